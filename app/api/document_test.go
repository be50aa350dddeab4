package api

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/manage/jobfile"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler/flow"
)

// registered is an API whose routes are made.
func registered(e *echo.Echo) *API {
	a := Register(e, Config{Catalogue: locales.New()})
	a.routes()
	return a
}

// TestTheDocumentIsThatOfTheCode compares openapi.json with what the code says; UPDATE=1 writes it anew.
func TestTheDocumentIsThatOfTheCode(t *testing.T) {
	t.Parallel()
	a := registered(echo.New())
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile("openapi.json", a.document(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile("openapi.json")
	if err != nil || string(raw) != string(a.document()) {
		t.Fatalf("openapi.json is stale: UPDATE=1 go test ./app/api (%v)", err)
	}
}

// TestTheDocumentsAreServed to everybody: programs and editors read them before there is a token.
func TestTheDocumentsAreServed(t *testing.T) {
	t.Parallel()
	e := echo.New()
	a := registered(e)
	for path, want := range map[string]string{"/openapi.json": string(a.document()), "/flow.schema.json": string(flow.Schema()), "/jobs.schema.json": string(jobfile.Schema(locales.New().Printer("en").T))} {
		rec := httptest.NewRecorder()
		e.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, Prefix+path, nil))
		if rec.Code != http.StatusOK || rec.Body.String() != want || !json.Valid(rec.Body.Bytes()) || !strings.HasPrefix(rec.Header().Get("Content-Type"), "application/json") {
			t.Errorf("%s: %d %.100s", path, rec.Code, rec.Body)
		}
		rec = httptest.NewRecorder()
		e.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, Prefix+path, nil))
		if rec.Code < 400 {
			t.Errorf("POST %s: %d", path, rec.Code)
		}
	}
}

// TestTheRoutesAreMadeForWhoAsks and not before; an unknown method is answered by what stands at the path.
func TestTheRoutesAreMadeForWhoAsks(t *testing.T) {
	t.Parallel()
	e := echo.New()
	a := Register(e, Config{})
	if a.huma != nil {
		t.Error("nobody has asked")
	}
	rec := httptest.NewRecorder()
	e.ServeHTTP(rec, httptest.NewRequest("FOO", Prefix+"/jobs", nil))
	if allowed := rec.Header().Get("Allow"); rec.Code != http.StatusMethodNotAllowed || !strings.Contains(allowed, http.MethodPost) || strings.Contains(allowed, "PROPFIND") {
		t.Errorf("%d, allowed %s", rec.Code, allowed)
	}
	if a.huma == nil {
		t.Error("somebody has asked")
	}
}

// TestNoFieldIsLeftOutOfTheDocument: the library passes over what a type takes from another one that is not exported, which
// encoding/json does not.
func TestNoFieldIsLeftOutOfTheDocument(t *testing.T) {
	t.Parallel()
	schemas := registered(echo.New()).huma.OpenAPI().Components.Schemas
	fields := 0
	for name := range schemas.Map() {
		of := schemas.TypeFromRef("#/components/schemas/" + name)
		if of == nil { // written out by hand
			continue
		}
		for f := range of.Fields() {
			if f.Anonymous && !f.IsExported() {
				t.Errorf("%s: the fields of %s are answered and not in the document", name, f.Name)
			}
			fields++
		}
	}
	if fields < 300 {
		t.Errorf("only %d fields were looked at", fields)
	}
}

// TestEveryOperationIsDescribed wants of each operation what makes a document useful: a name, a summary, the words for its parameters and
// fields, and statuses that say which errors there are.
func TestEveryOperationIsDescribed(t *testing.T) {
	t.Parallel()
	a := registered(echo.New())
	ids := make(map[string]bool)
	unused := make(map[string]bool)
	for _, tag := range a.huma.OpenAPI().Tags {
		if unused[tag.Name] = true; tag.Description == "" {
			t.Errorf("nothing says what %s are", tag.Name)
		}
	}
	known := maps.Clone(unused)
	for path, item := range a.huma.OpenAPI().Paths {
		raw, err := json.Marshal(item)
		if err != nil {
			t.Fatal(err)
		}
		var operations map[string]struct {
			OperationID string
			Summary     string
			Tags        []string
			Parameters  []struct{ Name, Description string }
			Responses   map[string]any
		}
		if err := json.Unmarshal(raw, &operations); err != nil {
			t.Fatal(err)
		}
		for method, o := range operations {
			if o.OperationID == "" || ids[o.OperationID] || o.Summary == "" || strings.HasSuffix(o.Summary, ".") || len(o.Tags) != 1 {
				t.Errorf("%s %s: id %q, summary %q, tags %q", method, path, o.OperationID, o.Summary, o.Tags)
			}
			ids[o.OperationID] = true
			for _, tag := range o.Tags {
				if delete(unused, tag); !known[tag] {
					t.Errorf("%s %s: the document has no tag %s", method, path, tag)
				}
			}
			for _, p := range o.Parameters {
				if p.Description == "" {
					t.Errorf("%s %s: nothing says what %s is", method, path, p.Name)
				}
			}
			if o.Responses["401"] == nil || o.Responses["default"] != nil {
				t.Errorf("%s %s: responses %v", method, path, o.Responses)
			}
		}
	}
	if len(unused) > 0 {
		t.Errorf("tags of no operation: %v", unused)
	}
}

// TestWhatIsWantedIsNotNull: null is as if a field were not named, so that one which has to be there cannot be null.
func TestWhatIsWantedIsNotNull(t *testing.T) {
	t.Parallel()
	o := registered(echo.New()).huma.OpenAPI()
	wanted := 0
	var walk func(name string, s *huma.Schema)
	seen := make(map[*huma.Schema]bool)
	walk = func(name string, s *huma.Schema) {
		for s != nil && s.Ref != "" {
			s = o.Components.Schemas.SchemaFromRef(s.Ref)
		}
		if s == nil || seen[s] {
			return
		}
		seen[s] = true
		walk(name+"[]", s.Items)
		for field, p := range s.Properties {
			if slices.Contains(s.Required, field) {
				if wanted++; p.Nullable {
					t.Errorf("%s: %s has to be there and may be null", name, field)
				}
			}
			walk(name+"."+field, p)
		}
	}
	for path, item := range o.Paths {
		for method, operation := range map[string]*huma.Operation{http.MethodPost: item.Post, http.MethodPut: item.Put, http.MethodPatch: item.Patch} {
			if operation != nil && operation.RequestBody != nil {
				for _, media := range operation.RequestBody.Content {
					walk(method+" "+path, media.Schema)
				}
			}
		}
	}
	if wanted < 10 {
		t.Errorf("only %d fields were looked at", wanted)
	}
}

// TestWhatCanBeChangedIsMatched: every operation that replaces, changes or deletes something takes an If-Match, those that replace it want
// one, and where it is read is its ETag.
func TestWhatCanBeChangedIsMatched(t *testing.T) {
	t.Parallel()
	paths := registered(echo.New()).huma.OpenAPI().Paths
	// Nothing of a token changes but that it is revoked, nothing of a note, and nothing that is read of a secret or an access token.
	unchanging := map[string]bool{"/tokens/{id}": true, "/groups/{id}/access-token": true, "/notes/{id}": true, "/groups/{id}/secrets/{name}": true}
	readAt := map[string]string{"/jobs/{id}/script": "/jobs/{id}", "/alarms/channels/{id}/routes/{route}": "/alarms/channels/{id}"}
	for path, item := range paths {
		for method, o := range map[string]*huma.Operation{http.MethodPut: item.Put, http.MethodPatch: item.Patch, http.MethodDelete: item.Delete} {
			if o == nil || unchanging[path] {
				continue
			}
			i := slices.IndexFunc(o.Parameters, func(p *huma.Param) bool { return p.Name == ifMatch })
			if i < 0 || o.Responses["412"] == nil {
				t.Errorf("%s %s takes no If-Match", method, path)
				continue
			}
			if want := method == http.MethodPut && o.OperationID != "putCalendar"; o.Parameters[i].Required != want || (o.Responses["428"] != nil) != (method == http.MethodPut) {
				t.Errorf("%s %s: If-Match required %v, answers %v", method, path, o.Parameters[i].Required, o.Responses)
			}
			at := cmp.Or(readAt[path], path)
			if read := paths[at]; read == nil || read.Get == nil || read.Get.Responses["200"].Headers["ETag"] == nil {
				t.Errorf("%s %s: nothing gives an ETag at %s", method, path, at)
			}
		}
	}
}

// TestTheDocumentIsOfUseToGenerators: programs made of it take answers that have more in a later version, and make requests as they are meant.
func TestTheDocumentIsOfUseToGenerators(t *testing.T) {
	t.Parallel()
	var doc jsonObject
	if err := json.Unmarshal(registered(echo.New()).document(), &doc); err != nil {
		t.Fatal(err)
	}
	schemas := doc["components"].(jsonObject)["schemas"].(jsonObject)
	asked, answered := make(map[string]bool), make(map[string]bool)
	for _, item := range doc["paths"].(jsonObject) {
		for _, o := range item.(jsonObject) {
			reached(schemas, o.(jsonObject)["requestBody"], asked)
			reached(schemas, o.(jsonObject)["responses"], answered)
		}
	}
	for name, s := range schemas {
		of := s.(jsonObject)
		if asked[name] == answered[name] {
			t.Errorf("%s: asked %v, answered %v", name, asked[name], answered[name])
		}
		if answered[name] {
			each(of, func(o jsonObject) {
				if o["additionalProperties"] != nil || o["enum"] != nil {
					t.Errorf("%s is answered and rules out what may come: %v", name, o)
				}
			})
			continue
		}
		if of["enum"] == nil && of["additionalProperties"] != false {
			t.Errorf("%s is asked and takes any field", name)
		}
		each(of, func(o jsonObject) {
			values, _ := o["enum"].([]any)
			if o["default"] != nil || slices.Contains(values, nil) {
				t.Errorf("%s: generators trip over %v", name, o)
			}
		})
	}
	if len(asked) < 20 || len(answered) < 50 {
		t.Errorf("%d schemas are asked, and %d answered", len(asked), len(answered))
	}
	job := schemas["NewJob"].(jsonObject)["properties"].(jsonObject)["route"].(jsonObject)
	if text, _ := job["description"].(string); !strings.HasSuffix(text, " Without it: FIRST.") {
		t.Errorf("nothing says what a job has that names no route: %v", job)
	}
}
