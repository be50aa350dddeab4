// Package static serves the console's style sheets, scripts, font, icons and manifest from inside the program.
//
// Every file has an address with a hash of its content in it, so browsers may keep it for ever and still see a new
// version at once. Under another hash it is served, too, and not kept. The files are built from static/src by static/src/build.sh and are committed.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Prefix is where [Handler] is mounted.
const Prefix = "/static/"

//go:embed dist
var dist embed.FS

// asset is one file under its hashed name.
type asset struct {
	name        string // with the hash: app.1f2e3d4c.css
	contentType string
	body        func() []byte // read, or unpacked, at each request: browsers take the other form
	gzipped     func() []byte // made at the first request that takes it; nil for what is compressed already
}

// contentTypes is written out: the types that the machine's mime tables give differ from one machine to the next.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	".woff2": "font/woff2", ".txt": "text/plain; charset=utf-8", ".png": "image/png", ".webmanifest": "application/manifest+json",
}

// named are the files that name others.
var named = map[string][]string{
	"editor.js": {"editor-core.js"}, "editor-php.js": {"editor-core.js"},
	"manifest.webmanifest": {"favicon.svg", "icon-192.png", "icon-512.png", "icon-maskable.png"},
}

// files are known from the first page or request on, by their names and by those with a hash.
var files = sync.OnceValues(load)

func load() (names, hashed map[string]*asset) {
	names, hashed = make(map[string]*asset), make(map[string]*asset)
	entries, err := dist.ReadDir("dist")
	if err != nil {
		panic(err)
	}
	add := func(name string, body func() []byte) {
		sum := sha256.Sum256(body())
		ext := path.Ext(name)
		a := &asset{
			name:        strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:4]) + ext,
			contentType: contentTypes[ext],
			body:        body,
		}
		if ext != ".woff2" && ext != ".png" {
			a.gzipped = sync.OnceValue(func() []byte { return compress(body()) })
		}
		names[name], hashed[a.name] = a, a
	}
	for _, e := range entries {
		name, packed := strings.CutSuffix(e.Name(), ".gz")
		if len(named[name]) > 0 {
			continue
		}
		add(name, func() []byte { return read(name) })
		if packed {
			names[name].gzipped = func() []byte { return stored(name + ".gz") }
		}
	}
	// The others name these, whose hashed names must be known by then.
	for name, others := range named {
		add(name, func() []byte {
			body := read(name)
			for _, other := range others {
				body = bytes.ReplaceAll(body, []byte(other), []byte(names[other].name))
			}
			return body
		})
	}
	return names, hashed
}

// read is a file as it was built. The large ones are stored compressed, and browsers take them so.
func read(name string) []byte {
	body, err := dist.ReadFile("dist/" + name)
	if err == nil {
		return body
	}
	r, err := gzip.NewReader(bytes.NewReader(stored(name + ".gz")))
	if err == nil {
		body, err = io.ReadAll(r)
	}
	if err != nil {
		panic(err)
	}
	return body
}

func stored(name string) []byte {
	body, err := dist.ReadFile("dist/" + name)
	if err != nil {
		panic(err)
	}
	return body
}

func compress(body []byte) []byte {
	var buf bytes.Buffer
	w, _ := gzip.NewWriterLevel(&buf, gzip.BestCompression) // the level is valid, so there is no error
	_, _ = w.Write(body)                                    // neither writing nor closing fails on a buffer
	_ = w.Close()
	return buf.Bytes()
}

// URL is the address of a file of static/dist, such as URL("app.css"). It panics on a name that does not exist.
func URL(name string) string {
	names, _ := files()
	a, ok := names[name]
	if !ok {
		panic("static: no file " + name)
	}
	return Prefix + a.name
}

// Body is what stands in a file of static/dist, to be read only. It panics on a name that does not exist.
func Body(name string) []byte {
	names, _ := files()
	a, ok := names[name]
	if !ok {
		panic("static: no file " + name)
	}
	return a.body()
}

// takesGzip says whether an Accept-Encoding names gzip, and with no weight of 0, which would rule it out.
func takesGzip(header string) bool {
	for coding := range strings.SplitSeq(header, ",") {
		name, weight, _ := strings.Cut(coding, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			return strings.Trim(weight, " qQ=0.") != "" || strings.TrimSpace(weight) == ""
		}
	}
	return false
}

// otherHash is the form of the addresses that [URL] gives.
var otherHash = regexp.MustCompile(`^(.+)\.[0-9a-f]{8}(\.[a-z0-9]+)$`)

// find is the file that an address under Prefix means, and whether it is that very one.
func find(name string) (a *asset, same bool) {
	names, hashed := files()
	if a := hashed[name]; a != nil {
		return a, true
	}
	if parts := otherHash.FindStringSubmatch(name); parts != nil {
		return names[parts[1]+parts[2]], false
	}
	return nil, false
}

// Handler serves every file under Prefix. While admins are upgraded one after the other, one is asked for what a page of another release
// names: it gives its own, for this once, since a page with the style sheet of its neighbour can be read and used, and one without cannot.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, same := find(strings.TrimPrefix(r.URL.Path, Prefix))
		if a == nil {
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Type", a.contentType)
		if same {
			h.Set("Cache-Control", "public, max-age=31536000, immutable")
		} else {
			h.Set("Cache-Control", "no-store")
		}
		h.Set("X-Content-Type-Options", "nosniff")
		body := a.body
		if a.gzipped != nil {
			h.Set("Vary", "Accept-Encoding")
			if takesGzip(r.Header.Get("Accept-Encoding")) {
				h.Set("Content-Encoding", "gzip")
				body = a.gzipped
			}
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body()))
	})
}
