package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// document is what is served and committed: what huma says of the code, told so that what generators make of it is of use. Requests are held
// against huma's own schemas.
func document(o *huma.OpenAPI) []byte {
	raw, err := json.Marshal(o)
	if err != nil {
		panic(err) // of our own types
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var doc jsonObject
	if err := d.Decode(&doc); err != nil {
		panic(err)
	}
	forGenerators(doc)
	if raw, err = json.MarshalIndent(doc, "", " "); err != nil {
		panic(err)
	}
	return append(raw, '\n')
}

type jsonObject = map[string]any

// forGenerators changes a document so that programs made of it go on working beside later versions, and read well:
//
//   - Answers may have more fields one day, and more values: clients of Java and Python refuse those that a schema rules out. Requests are closed.
//   - A default of a field that need not be named is said in words: TypeScript's would have it named, and Java's would send it.
//   - Choices that may be null have a name of their own, of which generators else make up several.
func forGenerators(doc jsonObject) {
	schemas := doc["components"].(jsonObject)["schemas"].(jsonObject)
	asked, answered := make(map[string]bool), make(map[string]bool)
	var requests []any
	for _, item := range doc["paths"].(jsonObject) {
		for _, operation := range item.(jsonObject) {
			o := operation.(jsonObject)
			if body := o["requestBody"]; body != nil {
				requests = append(requests, body)
			}
			reached(schemas, o["responses"], answered)
			leaveOpen(o["responses"])
		}
	}
	reached(schemas, requests, asked)
	var closed []string
	renamed := make(map[string]string) // what is asked and answered has another name where it is asked
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		if answered[name] {
			schemas["New"+name] = clone(schemas[name])
			renamed[toSchema(name)] = toSchema("New" + name)
			name = "New" + name
		}
		closed = append(closed, name)
	}
	for name, s := range schemas {
		if !slices.Contains(closed, name) {
			leaveOpen(s)
		}
	}
	for _, name := range closed {
		requests = append(requests, schemas[name])
		for field, p := range schemas[name].(jsonObject)["properties"].(jsonObject) {
			sayDefault(p.(jsonObject))
			nameChoice(schemas, name, field, p.(jsonObject))
		}
	}
	rename(requests, renamed)
}

// schemaName is a type's name without what tells it apart from others here, as programs call what they make of it.
func schemaName(t reflect.Type, hint string) string {
	return strings.TrimSuffix(strings.TrimSuffix(huma.DefaultSchemaNamer(t, hint), "JSON"), "Fields")
}

func toSchema(name string) string { return "#/components/schemas/" + name }

// each calls do for every object in a value, the outer ones first.
func each(v any, do func(jsonObject)) {
	switch v := v.(type) {
	case jsonObject:
		do(v)
		for _, part := range v {
			each(part, do)
		}
	case []any:
		for _, part := range v {
			each(part, do)
		}
	}
}

// reached adds the names of the schemas that a value refers to.
func reached(schemas jsonObject, v any, names map[string]bool) {
	each(v, func(o jsonObject) {
		ref, _ := o["$ref"].(string)
		if name := strings.TrimPrefix(ref, toSchema("")); ref != "" && !names[name] {
			names[name] = true
			reached(schemas, schemas[name], names)
		}
	})
}

// leaveOpen lets fields and values come that are not known yet; x-extensible-enum is what others say of those that are.
func leaveOpen(v any) {
	each(v, func(o jsonObject) {
		if o["additionalProperties"] == false {
			delete(o, "additionalProperties")
		}
		if values, ok := o["enum"].([]any); ok {
			delete(o, "enum")
			o["x-extensible-enum"] = values
		}
	})
}

func sayDefault(p jsonObject) {
	if value := p["default"]; value != nil {
		delete(p, "default")
		p["description"] = fmt.Sprintf("%s Without it: %v.", p["description"], value)
	}
}

// nameChoice makes a schema of its own of the values of a field that may be null. A new job and a change of one have the same.
func nameChoice(schemas jsonObject, of, field string, p jsonObject) {
	values, _ := p["enum"].([]any)
	without := slices.DeleteFunc(slices.Clone(values), func(v any) bool { return v == nil })
	if len(without) == len(values) {
		return
	}
	var name strings.Builder
	name.WriteString(strings.TrimSuffix(strings.TrimPrefix(of, "New"), "Patch"))
	for part := range strings.SplitSeq(field, "_") {
		name.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	choice := jsonObject{"type": "string", "enum": without}
	if there, ok := schemas[name.String()]; ok && !reflect.DeepEqual(there, any(choice)) {
		panic("two choices are called " + name.String())
	}
	schemas[name.String()] = choice
	delete(p, "type")
	delete(p, "enum")
	p["anyOf"] = []any{jsonObject{"$ref": toSchema(name.String())}, jsonObject{"type": "null"}}
}

func rename(v any, names map[string]string) {
	each(v, func(o jsonObject) {
		if ref, _ := o["$ref"].(string); names[ref] != "" {
			o["$ref"] = names[ref]
		}
	})
}

func clone(v any) any {
	switch v := v.(type) {
	case jsonObject:
		c := make(jsonObject, len(v))
		for k, part := range v {
			c[k] = clone(part)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, part := range v {
			c[i] = clone(part)
		}
		return c
	}
	return v
}
