// SPDX-License-Identifier: MIT
//
// Reads a profile with speedscope's own importer and prints, as JSON, what it makes of it:
// import.mjs PACKAGE FILE, where PACKAGE is the folder of the npm package.
//
// The package is a web page. Its one script is run here as far as its last step, which
// would draw the page: instead, that step hands out the importer.
import fs from 'node:fs'
import path from 'node:path'
import vm from 'node:vm'

const [packageFolder, file] = process.argv.slice(2)

// Anything that is asked of the page is there, and does nothing.
function nothing() {
    return new Proxy(function () {}, {
        get: (_, name) => (name === Symbol.toPrimitive ? () => '' : nothing()),
        set: () => true,
        apply: () => nothing(),
        construct: () => nothing(),
    })
}

function importerLoad(folder) {
    const release = path.join(folder, 'dist', 'release')
    const script = fs.readdirSync(release).find(name => /^speedscope-.*\.js$/.test(name))
    const source = fs.readFileSync(path.join(release, script), 'utf8')
    const exported = /([$\w]+)=\{\};[$\w]+\(\1,\{[^{}]*importProfilesFromArrayBuffer:/.exec(source)
    if (!exported) throw new Error(`${script} has no importer where it was`)
    const name = exported[1].replaceAll('$', '\\$')
    const loaded = new RegExp(`\\(\\(?\\)?=>\\(([$\\w]+)\\(\\),${name}\\)\\)`).exec(source)
    const last = source.lastIndexOf('console.log(`speedscope v')
    if (!loaded || last < 0) throw new Error(`${script} does not load its importer as it did`)
    const changed = source.slice(0, last) + `importer=(${loaded[1]}(),${exported[1]});})();`
    const page = {
        console: {log() {}, warn: console.warn, error: console.error},
        document: nothing(), navigator: nothing(), location: nothing(),
        TextDecoder, TextEncoder, URL, WebAssembly, atob, btoa,
        setTimeout, clearTimeout, setInterval, clearInterval,
        importer: null,
    }
    page.self = page.window = page
    vm.runInNewContext(changed, page, {filename: script})
    return page.importer
}

function describe(profile) {
    const frames = []
    profile.forEachFrame(frame =>
        frames.push({
            name: frame.name, file: frame.file ?? null, line: frame.line ?? null,
            col: frame.col ?? null, self: frame.getSelfWeight(), total: frame.getTotalWeight(),
        }))
    return {
        name: profile.getName(), unit: profile.getWeightUnit(), total: profile.getTotalWeight(),
        frames,
    }
}

const bytes = fs.readFileSync(file)
const group = await importerLoad(packageFolder).importProfilesFromArrayBuffer(
    path.basename(file), new Uint8Array(bytes).buffer)
console.log(JSON.stringify(group && {
    name: group.name, active: group.indexToView, profiles: group.profiles.map(describe),
}))
