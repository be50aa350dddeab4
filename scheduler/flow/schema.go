package flow

import "encoding/json"

// object is a part of a JSON Schema.
type object = map[string]any

// Schema is the JSON Schema of a definition: what [Parse] reads, with the bounds that [Compile] keeps to. Editors go by it; what it cannot
// say (circles, names, expressions) is only said by us.
func Schema() []byte {
	raw, err := json.MarshalIndent(object{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "Flow of Punctual",
		"$ref":    "#/$defs/flow",
		"$defs": object{
			"flow":   mapping(flowFields, flowSchema, FieldSteps),
			"step":   stepSchema(),
			"ref":    object{"anyOf": []object{digits(1, maxNumber), refSchema()}},
			"id":     object{"type": []string{"string", "boolean"}, "pattern": "^[A-Za-z_][A-Za-z0-9_]*$", "maxLength": MaxID},
			"second": number(0, MaxSeconds),
		},
	}, "", "  ")
	if err != nil {
		panic(err) // texts and numbers always encode
	}
	return append(raw, '\n')
}

var (
	flowSchema = object{
		FieldOnFailure: oneOf(AllOnFailures),
		FieldSteps:     object{"type": "array", "minItems": 1, "maxItems": MaxSteps, "items": to("step")},
	}
	approveSchema = object{
		FieldMessage: wording(MaxMessage),
		FieldTimeout: to("second"),
		FieldDefault: oneOf(AllAnswers),
	}
	waitSchema = object{FieldSeconds: to("second"), FieldUntil: wording(MaxMessage)}
	eachSchema = object{
		FieldItems:    object{"type": []string{"string", "number", "boolean"}, "pattern": `\S`},
		FieldParallel: with(number(0, MaxParallel), "default", DefaultParallel),
		FieldMax:      with(number(0, MaxItems), "default", MaxItems),
	}

	// What a field says that says nothing: it counts as one that is left out.
	noText   = object{"enum": []any{nil, ""}}
	noNumber = object{"enum": []any{nil, 0, "0"}}
	nothing  = object{"type": "null"}
)

func stepSchema() object {
	ids := object{"type": "array", "items": to("id"), "uniqueItems": true, "maxItems": MaxSteps}
	join := []object{{"enum": []any{"all", "any", nil}}, digits(1, MaxSteps)}
	step := mapping(stepFields, object{
		FieldID:       to("id"),
		FieldName:     wording(MaxName),
		FieldNeeds:    object{"anyOf": []object{to("id"), ids, nothing}},
		FieldJoin:     object{"anyOf": join, "default": "all"},
		FieldIf:       with(wording(0), "default", "success()"),
		FieldJob:      orNothing(to("ref")),
		FieldFlow:     orNothing(to("ref")),
		FieldApprove:  orNothing(mapping(askFields, approveSchema)),
		FieldWait:     orNothing(with(mapping(waitFields, waitSchema), "oneOf", []object{says(FieldSeconds, noNumber), says(FieldUntil, noText)})),
		FieldParam:    wording(MaxParam),
		FieldForeach:  orNothing(mapping(eachFields, eachSchema, FieldItems)),
		FieldTimeout:  to("second"),
		FieldRetries:  number(0, MaxRetries),
		FieldBackoff:  wording(MaxBackoff),
		FieldContinue: object{"type": []string{"boolean", "null"}, "default": false},
	}, FieldID)
	var kinds []object
	for _, k := range AllKinds {
		kinds = append(kinds, says(string(k), nothing))
	}
	step["if"] = object{"anyOf": []object{says(FieldApprove, nothing), says(FieldWait, nothing)}} // which have no runs
	step["then"] = object{"properties": object{FieldParam: nothing, FieldForeach: nothing, FieldRetries: nothing, FieldTimeout: noNumber, FieldBackoff: noText}}
	return with(step, "oneOf", kinds)
}

// refSchema is a mapping that names a job by its executor and description, by its id, or by both.
func refSchema() object {
	ref := mapping(refFields, object{fieldAppName: wording(0), fieldDescription: wording(0), FieldID: number(1, maxNumber)})
	named := object{"allOf": []object{says(fieldAppName, noText), says(fieldDescription, noText)}}
	numbered := object{"allOf": []object{says(FieldID, nothing), {"properties": object{fieldAppName: noText, fieldDescription: noText}}}}
	return with(ref, "anyOf", []object{named, numbered})
}

// mapping is a mapping with these fields and no others.
func mapping(fields []string, all object, needed ...string) object {
	properties := make(object, len(fields))
	for _, name := range fields {
		properties[name] = all[name]
	}
	m := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(needed) > 0 {
		m["required"] = needed
	}
	return m
}

// says is a mapping with a field that says something, which what it would be otherwise does not.
func says(name string, otherwise object) object {
	return object{"required": []string{name}, "properties": object{name: object{"not": otherwise}}}
}

// maxNumber is the largest number that every program keeps.
const maxNumber = 1<<53 - 1

// number is a whole number, which may stand in quotes, or nothing.
func number(least, most int) object {
	return with(digits(least, most), "type", []string{"integer", "string", "null"})
}

// digits is a whole number, which may stand in quotes.
func digits(least, most int) object {
	return object{"type": []string{"integer", "string"}, "minimum": least, "maximum": most, "pattern": "^[+]?[0-9]{1,15}$"}
}

// wording is a text of at most so many characters, or any other value that is then taken as it is written, or nothing.
func wording(most int) object {
	o := object{"type": []string{"string", "number", "boolean", "null"}}
	if most > 0 {
		o["maxLength"] = most
	}
	return o
}

// oneOf is one of some words, or nothing. The first is the default.
func oneOf[T ~string](words []T) object {
	list := []any{nil, ""}
	for _, word := range words {
		list = append(list, word)
	}
	return object{"enum": list, "default": words[0]}
}

func orNothing(o object) object { return object{"anyOf": []object{o, nothing}} }

func to(name string) object { return object{"$ref": "#/$defs/" + name} }

func with(o object, key string, value any) object {
	o[key] = value
	return o
}
