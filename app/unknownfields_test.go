package app

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app/api"
)

// bodySchema is what is read of a schema of the document.
type bodySchema struct {
	Ref                  string `json:"$ref"`
	Type                 any
	Format               string
	Enum, Examples       []any
	Minimum              float64
	MinLength, MinItems  int
	Properties           map[string]bodySchema
	Items                *bodySchema
	AdditionalProperties any
}

// bodies makes bodies that fit the document.
type bodies struct{ schemas map[string]bodySchema }

// levels calls each for a value of every object that a schema has at any depth, with the path to it and the means to put a whole body around it.
func (b bodies) levels(s bodySchema, path string, around func(any) any, each func(path string, object map[string]any, around func(any) any)) {
	s = b.resolve(s)
	switch b.typeOf(s) {
	case "object":
		object, _ := b.value(s, 0).(map[string]any)
		each(path, object, around)
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			b.levels(s.Properties[name], path+name+".", func(v any) any {
				whole, _ := b.value(s, 0).(map[string]any)
				whole[name] = v
				return around(whole)
			}, each)
		}
	case "array":
		b.levels(*s.Items, path+"0.", func(v any) any { return around([]any{v}) }, each)
	}
}

func (b bodies) resolve(s bodySchema) bodySchema {
	for s.Ref != "" {
		s = b.schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	}
	return s
}

func (b bodies) typeOf(s bodySchema) string {
	if all, many := s.Type.([]any); many {
		s.Type = all[0]
	}
	name, _ := s.Type.(string)
	return name
}

// value is one that a schema takes. Objects have all that they can have, down to some depth.
func (b bodies) value(s bodySchema, depth int) any {
	s = b.resolve(s)
	if len(s.Enum) > 0 {
		return s.Enum[0]
	}
	switch b.typeOf(s) {
	case "object":
		object := map[string]any{}
		for name, p := range s.Properties {
			if depth < 5 {
				object[name] = b.value(p, depth+1)
			}
		}
		return object
	case "array":
		list := []any{}
		for range s.MinItems {
			list = append(list, b.value(*s.Items, depth+1))
		}
		return list
	case "integer", "number":
		return max(1, s.Minimum)
	case "boolean":
		return false
	}
	if s.Format == "date-time" {
		return "2099-01-01T00:00:00Z"
	}
	return strings.Repeat("1", max(1, s.MinLength))
}

// TestNoUnknownFieldIsTakenAtAnyDepth puts a field that nobody knows into every object of every body that the document has, one at a time.
// Each is refused by its path.
func TestNoUnknownFieldIsTakenAtAnyDepth(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.apiLimit = api.Limit{Burst: 1 << 20, Every: time.Microsecond}
	a, c := apiCaller(t, o)
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string
			RequestBody struct {
				Content map[string]struct{ Schema bodySchema }
			}
		}
		Components struct{ Schemas map[string]bodySchema }
	}
	c.json(http.StatusOK, &document, "GET", "/openapi.json", "")
	all := bodies{document.Components.Schemas}
	ids := apiThings(t, a, 1, "mine")
	tried, deep := 0, 0
	for path, operations := range document.Paths {
		for method, operation := range operations {
			op := apiOperation{operation.OperationID, strings.ToUpper(method), path}
			for media, content := range operation.RequestBody.Content {
				if !strings.HasSuffix(media, "json") {
					t.Errorf("%s takes %s", op.id, media)
				}
				all.levels(content.Schema, "", func(v any) any { return v }, func(path string, object map[string]any, around func(any) any) {
					object["nobody_knows"] = "me"
					body, err := json.Marshal(around(object))
					if err != nil {
						t.Fatal(err)
					}
					tried++
					if path != "" {
						deep++
					}
					got := c.do(op.method, op.at(ids), string(body), append(op.match(), "Accept-Language", "en")...)
					var r refusal
					if err := json.Unmarshal([]byte(got.body), &r); err != nil || got.status < 400 || got.status > 499 || !slices.Contains(r.fields(), fmt.Sprintf("body %snobody_knows error.unexpected", path)) {
						t.Errorf("%s: %snobody_knows in %s: %d %s", op.id, path, body, got.status, got.body)
					}
				})
			}
		}
	}
	if tried < 50 || deep < 7 {
		t.Errorf("only %d objects were tried, %d of them within others", tried, deep)
	}
	t.Logf("%d objects, %d of them within others", tried, deep)
}
