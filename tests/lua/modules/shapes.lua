local shapes = {}

function shapes.area(shape)
  return shape.width * shape.height
end

return shapes
