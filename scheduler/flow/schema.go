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
			"ref":    object{"anyOf": []object{{"type": "integer", "minimum": 1}, refSchema()}},
			"id":     object{"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$", "maxLength": MaxID},
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
		FieldOnFailure: object{"enum": AllOnFailures, "default": OnFailureStop},
		FieldSteps:     object{"type": "array", "minItems": 1, "maxItems": MaxSteps, "items": to("step")},
	}
	approveSchema = object{
		FieldMessage: object{"type": "string", "maxLength": MaxMessage},
		FieldTimeout: to("second"),
		FieldDefault: object{"enum": AllAnswers, "default": AnswerReject},
	}
	waitSchema = object{FieldSeconds: number(1, MaxSeconds), FieldUntil: object{"type": "string", "minLength": 1, "maxLength": MaxMessage}}
	eachSchema = object{
		FieldItems:    object{"type": "string", "minLength": 1},
		FieldParallel: with(number(0, MaxParallel), "default", DefaultParallel),
		FieldMax:      with(number(0, MaxItems), "default", MaxItems),
	}
)

func stepSchema() object {
	ids := object{"type": "array", "items": to("id"), "uniqueItems": true, "maxItems": MaxSteps}
	step := mapping(stepFields, object{
		FieldID:       to("id"),
		FieldName:     object{"type": "string", "maxLength": MaxName},
		FieldNeeds:    object{"anyOf": []object{to("id"), ids}},
		FieldJoin:     object{"anyOf": []object{{"enum": []string{"all", "any"}}, number(1, MaxSteps)}, "default": "all"},
		FieldIf:       object{"type": []string{"string", "boolean"}, "default": "success()"},
		FieldJob:      to("ref"),
		FieldFlow:     to("ref"),
		FieldApprove:  mapping(askFields, approveSchema),
		FieldWait:     with(mapping(waitFields, waitSchema), "oneOf", needOne(waitFields)),
		FieldParam:    object{"type": []string{"string", "number", "boolean"}, "maxLength": MaxParam},
		FieldForeach:  mapping(eachFields, eachSchema, FieldItems),
		FieldTimeout:  to("second"),
		FieldRetries:  number(0, MaxRetries),
		FieldBackoff:  object{"type": []string{"string", "integer"}, "maxLength": MaxBackoff},
		FieldContinue: object{"type": "boolean", "default": false},
	}, FieldID)
	var kinds []string
	for _, k := range AllKinds {
		kinds = append(kinds, string(k))
	}
	return with(step, "oneOf", needOne(kinds))
}

func refSchema() object {
	text := object{"type": "string", "minLength": 1}
	ref := mapping(refFields, object{fieldAppName: text, fieldDescription: text, FieldID: object{"type": "integer", "minimum": 1}})
	ref["anyOf"] = []object{{"required": []string{fieldAppName, fieldDescription}}, {"required": []string{FieldID}}}
	ref["dependentRequired"] = object{fieldAppName: []string{fieldDescription}, fieldDescription: []string{fieldAppName}}
	return ref
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

func needOne(fields []string) (list []object) {
	for _, name := range fields {
		list = append(list, object{"required": []string{name}})
	}
	return list
}

func number(least, most int) object {
	return object{"type": "integer", "minimum": least, "maximum": most}
}

func to(name string) object { return object{"$ref": "#/$defs/" + name} }

func with(o object, key string, value any) object {
	o[key] = value
	return o
}
