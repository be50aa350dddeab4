package static

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
)

func get(t *testing.T, path string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	return w.Result()
}

func TestFilesAreServedForEverUnderTheirHash(t *testing.T) {
	t.Parallel()
	for name, contentType := range map[string]string{
		"app.css": "text/css; charset=utf-8", "app.js": "text/javascript; charset=utf-8", "cron.js": "text/javascript; charset=utf-8", "editor-core.js": "text/javascript; charset=utf-8",
		"inter.woff2": "font/woff2", "favicon.svg": "image/svg+xml", "icon-192.png": "image/png",
		"manifest.webmanifest": "application/manifest+json", "LICENSES.txt": "text/plain; charset=utf-8",
	} {
		plain := get(t, URL(name))
		if plain.StatusCode != http.StatusOK || plain.Header.Get("Content-Type") != contentType || !strings.Contains(plain.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d %v", name, plain.StatusCode, plain.Header)
		}
		body, err := io.ReadAll(plain.Body)
		if err != nil || len(body) == 0 {
			t.Errorf("%s: %d bytes, %v", name, len(body), err)
		}
		small := get(t, URL(name), "Accept-Encoding", "gzip, br")
		if small.Header.Get("Content-Encoding") != "gzip" {
			if strings.Contains(contentType, "charset") {
				t.Errorf("%s is not compressed", name)
			}
			continue
		}
		r, err := gzip.NewReader(small.Body)
		if err != nil {
			t.Fatal(err)
		}
		unpacked, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(unpacked, body) {
			t.Errorf("%s: the compressed body differs (%v)", name, err)
		}
	}
}

// TestWhoTakesNoGzipGetsNone: one that says so of it, too.
func TestWhoTakesNoGzipGetsNone(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"gzip;q=0": "", "br, GZIP ; q=0.000": "", "identity": "", "gzip;q=0.5, br": "gzip", "deflate,gzip": "gzip", "X-Gzip": "",
	} {
		if got := get(t, URL("app.js"), "Accept-Encoding", header).Header.Get("Content-Encoding"); got != want {
			t.Errorf("%s: %q, want %q", header, got, want)
		}
	}
}

// TestTheEditorsShareTheirCore: a second language costs its grammar, and no second editor.
func TestTheEditorsShareTheirCore(t *testing.T) {
	t.Parallel()
	core := strings.TrimPrefix(URL("editor-core.js"), Prefix)
	for _, name := range []string{"editor.js", "editor-php.js"} {
		body, err := io.ReadAll(get(t, URL(name)).Body)
		if err != nil || !bytes.Contains(body, []byte(`"./`+core+`"`)) || bytes.Contains(body, []byte("editor-core.js")) {
			t.Errorf("%s does not load %s (%v)", name, core, err)
		}
		if len(body) > 250_000 {
			t.Errorf("%s has %d bytes of its own", name, len(body))
		}
	}
}

func TestUnknownNamesAreNotFound(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/static/app.css", "/static/", "/static/nobody.00000000.css", "/static/app.0000000.css", "/static/app.00000000.txt", "/static/../static.go", "/static/src/build.sh"} {
		if got := get(t, path).StatusCode; got != http.StatusNotFound {
			t.Errorf("%s: %d", path, got)
		}
	}
}

// TestAPageOfAnotherReleaseHasItsStyle: behind a load balancer, or in the moment of a restart, its files are asked for here. What they get is not kept
// under an address that is another file's.
func TestAPageOfAnotherReleaseHasItsStyle(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"app.css", "app.js", "icons.svg", "inter.woff2", "favicon-lost.svg"} {
		own, other := get(t, URL(name)), get(t, Prefix+strings.Replace(name, ".", ".0123abcd.", 1))
		want, err := io.ReadAll(own.Body)
		got, err2 := io.ReadAll(other.Body)
		if other.StatusCode != http.StatusOK || !bytes.Equal(got, want) || err != nil || err2 != nil || other.Header.Get("Content-Type") != own.Header.Get("Content-Type") {
			t.Errorf("%s of another release: %d, %d bytes of %d, %v %v", name, other.StatusCode, len(got), len(want), err, err2)
		}
		if kept := other.Header.Get("Cache-Control"); kept != "no-store" {
			t.Errorf("%s of another release: %q", name, kept)
		}
	}
}

// TestManifestNamesItsIcons: it says what an installation needs, and each icon is there, of the kind and the size that the manifest tells browsers.
func TestManifestNamesItsIcons(t *testing.T) {
	t.Parallel()
	at, err := url.Parse(URL("manifest.webmanifest"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Icons []struct{ Src, Sizes, Type, Purpose string }

		Name, ID, Lang, Display, Scope, Description string

		ShortName  string            `json:"short_name"`
		StartURL   string            `json:"start_url"`
		Background string            `json:"background_color"`
		Theme      string            `json:"theme_color"`
		Names      map[string]string `json:"name_localized"`
		Texts      map[string]string `json:"description_localized"`
	}
	if err := json.NewDecoder(get(t, at.Path).Body).Decode(&manifest); err != nil || len(manifest.Icons) != 4 {
		t.Fatalf("%d icons, %v", len(manifest.Icons), err)
	}
	for what, said := range map[string]string{"name": manifest.Name, "short name": manifest.ShortName, "description": manifest.Description, "background": manifest.Background, "theme": manifest.Theme,
		"name in zh-CN": manifest.Names["zh-CN"], "name in zh-TW": manifest.Names["zh-TW"], "description in zh-CN": manifest.Texts["zh-CN"], "description in zh-TW": manifest.Texts["zh-TW"]} {
		if said == "" {
			t.Errorf("the manifest has no %s", what)
		}
	}
	if manifest.Lang != "en" || manifest.Display != "standalone" || manifest.StartURL != "/" || manifest.ID != "/" || manifest.Scope != "/" {
		t.Errorf("what opens, and how: %+v", manifest)
	}
	var sizes []string
	for _, icon := range manifest.Icons {
		sizes = append(sizes, strings.TrimSpace(icon.Sizes+" "+icon.Purpose))
	}
	for _, want := range []string{"192x192", "512x512", "512x512 maskable"} {
		if !slices.Contains(sizes, want) {
			t.Errorf("no icon of %s among %q", want, sizes)
		}
	}
	for _, icon := range manifest.Icons {
		src, err := at.Parse(icon.Src)
		if err != nil {
			t.Fatal(err)
		}
		r := get(t, src.Path)
		if r.StatusCode != http.StatusOK || r.Header.Get("Content-Type") != icon.Type {
			t.Errorf("%s: %d %s, want %s", icon.Src, r.StatusCode, r.Header.Get("Content-Type"), icon.Type)
			continue
		}
		if icon.Sizes == "any" {
			continue
		}
		if c, err := png.DecodeConfig(r.Body); err != nil || fmt.Sprintf("%dx%d", c.Width, c.Height) != icon.Sizes {
			t.Errorf("%s is %dx%d, want %s (%v)", icon.Src, c.Width, c.Height, icon.Sizes, err)
		}
	}
}

func TestStyleSheetNamesTheFontByItsHash(t *testing.T) {
	t.Parallel()
	body, err := io.ReadAll(get(t, URL("app.css")).Body)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(body), strings.TrimPrefix(URL("inter.woff2"), Prefix)) || strings.Contains(string(body), `"inter.woff2"`) {
		t.Error("the style sheet asks for a font that is not there")
	}
}

// The budget of the first visit: style sheet, script and font, as they cross the network.
func TestWeight(t *testing.T) {
	t.Parallel()
	limits := map[string]int{"app.css": 16 << 10, "docs.css": 4 << 10, "more.css": 4 << 10, "rare.css": 1 << 10, "media.css": 2 << 10, "login.css": 1 << 10, "app.js": 32 << 10, "cron.js": 12 << 10, "passkeys.js": 2 << 10, "mine.js": 1 << 10, "readout.js": 1 << 10, "flow.js": 2 << 10, "roving.js": 1 << 10, "rights.js": 1 << 10, "inter.woff2": 50 << 10, "icons.svg": 5 << 10}
	for name, limit := range limits {
		body, err := io.ReadAll(get(t, URL(name), "Accept-Encoding", "gzip").Body)
		if err != nil {
			t.Fatal(err)
		}
		if len(body) > limit {
			t.Errorf("%s weighs %d bytes, more than %d", name, len(body), limit)
		}
	}
}

func TestLicencesAreKept(t *testing.T) {
	t.Parallel()
	text := string(read("LICENSES.txt"))
	for _, name := range []string{"htmx.org", "idiomorph", "cronstrue", "inter", "lucide-static"} {
		if !strings.Contains(text, name) {
			t.Errorf("no licence of %s", name)
		}
	}
}
