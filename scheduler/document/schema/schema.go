// Package schema says in JSON Schema what a reader of documents takes: a number may stand in quotes, a text need not, and null is nothing. Editors go by
// it.
package schema

import "encoding/json"

// Object is a part of a JSON Schema.
type Object = map[string]any

// What a field says that says nothing: it counts as one that is left out.
var (
	NoText   = Object{"enum": []any{nil, ""}}
	NoNumber = Object{"enum": []any{nil, 0, "0"}}
	NoValue  = Object{"type": "null"}
)

// The fields of a job that is named.
const (
	appName     = "app_name"
	description = "description"
	id          = "id"
)

// Write makes the schema of a document, which is one of the definitions.
func Write(title, root string, definitions Object) []byte {
	raw, err := json.MarshalIndent(Object{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, "$ref": "#/$defs/" + root, "$defs": definitions}, "", "  ")
	if err != nil {
		panic(err) // texts and numbers always encode
	}
	return append(raw, '\n')
}

// Ref is a mapping that names a job by its executor and description, by its id, or by both.
func Ref() Object {
	ref := Mapping([]string{appName, description, id}, Object{appName: Wording(0), description: Wording(0), id: Whole(1, MaxNumber)})
	named := Object{"allOf": []Object{Says(appName, NoText), Says(description, NoText)}}
	numbered := Object{"allOf": []Object{Says(id, NoValue), {"properties": Object{appName: NoText, description: NoText}}}}
	return With(ref, "anyOf", []Object{named, numbered})
}

// Mapping is a mapping with these fields and no others.
func Mapping(fields []string, all Object, needed ...string) Object {
	properties := make(Object, len(fields))
	for _, name := range fields {
		properties[name] = all[name]
	}
	m := Object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(needed) > 0 {
		m["required"] = needed
	}
	return m
}

// Says is a mapping with a field that says something, which what it would be otherwise does not.
func Says(name string, otherwise Object) Object {
	return Object{"required": []string{name}, "properties": Object{name: Object{"not": otherwise}}}
}

// MaxNumber is the largest number that every program keeps.
const MaxNumber = 1<<53 - 1

// Whole is a whole number, which may stand in quotes, or nothing.
func Whole(least, most int) Object {
	return With(Digits(least, most), "type", []string{"integer", "string", "null"})
}

// Digits is a whole number, which may stand in quotes.
func Digits(least, most int) Object {
	return Object{"type": []string{"integer", "string"}, "minimum": least, "maximum": most, "pattern": "^[+]?[0-9]{1,15}$"}
}

// Wording is a text of at most so many characters, or any other value that is then taken as it is written, or nothing.
func Wording(most int) Object {
	o := Object{"type": []string{"string", "number", "boolean", "null"}}
	if most > 0 {
		o["maxLength"] = most
	}
	return o
}

// OneOf is one of some words, or nothing. The first is the default.
func OneOf[T ~string](words []T) Object {
	list := []any{nil, ""}
	for _, word := range words {
		list = append(list, word)
	}
	return Object{"enum": list, "default": words[0]}
}

// OrNothing is a value, or null.
func OrNothing(o Object) Object { return Object{"anyOf": []Object{o, NoValue}} }

// To is what another definition says.
func To(name string) Object { return Object{"$ref": "#/$defs/" + name} }

// With adds a keyword.
func With(o Object, key string, value any) Object {
	o[key] = value
	return o
}
