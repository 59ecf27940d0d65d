#!/usr/bin/env bash
# The fonts in GraphiQL's style sheet.
#
# Expected: as the README of @graphiql/react says, Roboto and Fira Code are optional, and are in style sheets of their own:
# `@graphiql/react/font/roboto.css` and `@graphiql/react/font/fira-code.css`.
#
# Seen: `graphiql/style.css`, which every page with GraphiQL 5 loads, contains both, and Monaco's icons, as 35 `data:` URLs.
# They are nine tenths of the compressed file. A browser downloads them in any case, also those for Greek and Vietnamese,
# and even if it may not use them: under `font-src 'self'`, each of them is a violation. Bundlers leave `data:` URLs as
# they are.
#
# What follows: remove the `@font-face` rules with `data:` URLs while bundling; Monaco brings its icons as a file, too. Or
# allow `data:` in `font-src`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund graphiql@5.4.0 @graphiql/react@0.39.1 graphql@16.15.0 react@19.3.1 react-dom@19.3.1
cat > run.mjs <<'JS'
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const FACE = /@font-face\s*\{[^}]*\}/g;
const text = readFileSync('node_modules/graphiql/dist/style.css', 'utf8');
const faces = text.match(FACE) ?? [];
const names = faces.map((face) => /font-family:\s*["']?([^;"'}]+)/.exec(face)[1].trim());
const kilobytes = (css) => Math.round(gzipSync(css).length / 1000);
const seen = {
  inlined: faces.filter((face) => face.includes('data:')).length,
  families: [...new Set(names)].sort().join(', '),
  kilobytes: kilobytes(text),
  kilobytesWithoutFonts: kilobytes(text.replaceAll(FACE, '')),
};
console.log('graphiql 5.4.0, @graphiql/react 0.39.1, Node', process.versions.node);
console.log(seen);
const expected = { inlined: 35, families: 'Fira Code, Roboto, codicon', kilobytes: 349, kilobytesWithoutFonts: 26 };
const isSame =
  ['inlined', 'families'].every((name) => seen[name] === expected[name]) &&
  ['kilobytes', 'kilobytesWithoutFonts'].every((name) => Math.abs(seen[name] - expected[name]) <= 5);
console.log(isSame ? 'As described.' : 'This has changed.');
process.exit(isSame ? 0 : 1);
JS
node run.mjs
