#!/bin/sh
# Rebuilds static/dist from this folder. Needs Node (for npm ci) and Go; the outputs are committed, so nobody needs Node to build or run
# Punctual.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root/static/src"
npm ci --no-audit --no-fund --silent

cd "$root"
dist=static/dist
mkdir -p "$dist"
node static/src/icons.mjs > $dist/icons.svg
esbuild() { GOWORK=off go tool -modfile=tools/go.mod esbuild --log-level=warning --bundle --minify --charset=utf8 --legal-comments=none "$@"; }
targets=chrome123,firefox128,safari17.5
esbuild --target=$targets --format=iife --outfile=$dist/app.js static/src/js/app.js
esbuild --target=$targets --format=iife --outfile=$dist/cron.js static/src/js/cron.js
esbuild --target=$targets --format=iife --outfile=$dist/passkeys.js static/src/js/passkeys.js
esbuild --target=$targets --format=iife --outfile=$dist/mine.js static/src/js/mine.js
esbuild --target=$targets --format=iife --outfile=$dist/readout.js static/src/js/readout.js
esbuild --target=$targets --format=iife --outfile=$dist/flow.js static/src/js/flow.js
esbuild --target=$targets --format=iife --outfile=$dist/roving.js static/src/js/roving.js
esbuild --target=$targets --format=iife --outfile=$dist/rights.js static/src/js/rights.js
# What both editors have is a file of its own, so that who edits a second language loads only that.
esbuild --target=$targets --format=esm --splitting --chunk-names=editor-core --outdir=$dist static/src/js/editor/editor.js static/src/js/editor/editor-php.js
esbuild --target=$targets --external:*.woff2 --outfile=$dist/app.css static/src/css/app.css
esbuild --target=$targets --outfile=$dist/more.css static/src/css/more.css
esbuild --target=$targets --outfile=$dist/rare.css static/src/css/rare.css
esbuild --target=$targets --outfile=$dist/docs.css static/src/css/docs.css
esbuild --target=$targets --outfile=$dist/login.css static/src/css/login.css
esbuild --target=$targets --outfile=$dist/media.css static/src/css/media.css
node static/src/lengths.mjs $dist/*.css
cp static/src/node_modules/@fontsource-variable/inter/files/inter-latin-wght-normal.woff2 $dist/inter.woff2
# The font by the name that it is served under, so that the sheet is served as it is stored.
sed "s/inter\.woff2/inter.$(sha256sum $dist/inter.woff2 | cut -c1-8).woff2/" $dist/app.css > $dist/app.css.named
mv $dist/app.css.named $dist/app.css
# What is large is stored compressed, or a hundredth of the program would be these files. So are the licences.
gzip -9nf $dist/editor-core.js $dist/editor.js $dist/editor-php.js $dist/app.js $dist/cron.js $dist/app.css
# The icons of the manifest are pictures of favicon.svg, taken once with a browser.
cp static/src/favicon*.svg static/src/icons/*.png static/src/manifest.webmanifest $dist/

{
	echo "The files of this folder contain the following packages, under the licences below."
	for name in htmx.org idiomorph cronstrue @fontsource-variable/inter lucide-static \
	codemirror crelt style-mod w3c-keyname @marijn/find-cluster-break @codemirror/autocomplete @codemirror/commands @codemirror/lang-css @codemirror/lang-html \
	@codemirror/lang-java @codemirror/lang-javascript @codemirror/lang-php @codemirror/lang-python @codemirror/language @codemirror/legacy-modes \
	@codemirror/streamparser @codemirror/lint @codemirror/merge @codemirror/search @codemirror/state @codemirror/theme-one-dark @codemirror/view \
	@lezer/common @lezer/css @lezer/highlight @lezer/html @lezer/java @lezer/javascript @lezer/lr @lezer/php @lezer/python; do
		version=$(node -p "require('./static/src/node_modules/$name/package.json').version")
		printf '\n======== %s %s ========\n\n' "$name" "$version"
		cat "static/src/node_modules/$name/LICENSE"
	done
} > $dist/LICENSES.txt
gzip -9nf $dist/LICENSES.txt
