// SPDX-License-Identifier: MIT
//
// Reads OTLP's JSON into the messages of OpenTelemetry's npm package: read.mjs PACKAGE FILE. What
// the messages do not know, or know of another type, is an error. Prints how much there was.
import {createRequire} from 'node:module'
import fs from 'node:fs'
import path from 'node:path'

const [packageFolder, file] = process.argv.slice(2)
const require = createRequire(path.resolve(packageFolder, 'package.json'))
const root = require('./build/src/generated/root.js')
const {collector} = root.opentelemetry.proto
const Request = collector.trace.v1.ExportTraceServiceRequest

// Ids are hexadecimal in OTLP's JSON, in place of the base64 of protocol buffers' own.
function bytesMake(value) {
    if (Array.isArray(value)) return value.map(bytesMake)
    if (value === null || typeof value !== 'object') return value
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => {
        if (key === 'traceId' || key === 'spanId' || key === 'parentSpanId') {
            if (!/^([0-9a-f]{16}|[0-9a-f]{32})$/.test(inner)) throw new Error(`${key}: ${inner}`)
            return [key, Buffer.from(inner, 'hex').toString('base64')]
        }
        return [key, bytesMake(inner)]
    }))
}

// Describes the first difference of two values; undefined if they are equal.
function difference(left, right, where) {
    if (typeof left === 'number' && typeof right === 'number' && Object.is(left, right)) return
    if (left === right) return
    if (typeof left !== 'object' || typeof right !== 'object' || !left || !right)
        return `${where}: ${JSON.stringify(left)} became ${JSON.stringify(right)}`
    for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
        const found = difference(left[key], right[key], `${where}.${key}`)
        if (found) return found
    }
}

const json = bytesMake(JSON.parse(fs.readFileSync(file, 'utf8')))
const request = Request.fromObject(json)
const fault = Request.verify(request)
if (fault) throw new Error(fault)
// Through the wire and back: what a collector would have.
const received = Request.decode(Request.encode(request).finish())
const again = Request.toObject(received, {longs: String, bytes: String, arrays: false})
const found = difference(json, again, 'request')
if (found) throw new Error(found)

const counts = {spans: 0, links: 0, attributes: 0}
for (const resource of received.resourceSpans)
    for (const scope of resource.scopeSpans)
        for (const span of scope.spans) {
            counts.spans++
            counts.links += span.links.length
            counts.attributes += span.attributes.length
        }
console.log(JSON.stringify(counts))
