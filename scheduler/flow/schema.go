package flow

import "github.com/punctual-job/punctual/scheduler/document/schema"

// Schema is the JSON Schema of a definition: what [Parse] reads, with the bounds that [Compile] keeps to. Editors go by it; what it cannot
// say (circles, names, expressions) is only said by us.
func Schema() []byte {
	return schema.Write("Flow of Punctual", "flow", schema.Object{
		"flow":   schema.Mapping(flowFields, flowSchema, FieldSteps),
		"step":   stepSchema(),
		"ref":    schema.Object{"anyOf": []schema.Object{schema.Digits(1, schema.MaxNumber), schema.Ref()}},
		"id":     schema.Object{"type": []string{"string", "boolean"}, "pattern": "^[A-Za-z_][A-Za-z0-9_]*$", "maxLength": MaxID},
		"second": schema.Whole(0, MaxSeconds),
	})
}

var (
	flowSchema = schema.Object{
		FieldOnFailure: schema.OneOf(AllOnFailures),
		FieldSteps:     schema.Object{"type": "array", "minItems": 1, "maxItems": MaxSteps, "items": schema.To("step")},
		FieldOutputs: schema.OrNothing(schema.Object{
			"type": "object", "maxProperties": MaxOutputs, "additionalProperties": schema.Object{"type": []string{"string", "number", "boolean"}, "pattern": `\S`},
			"propertyNames": schema.Object{"pattern": "^[A-Za-z_][A-Za-z0-9_]*$", "maxLength": MaxID},
		}),
	}
	approveSchema = schema.Object{
		FieldMessage: schema.Wording(MaxMessage),
		FieldTimeout: schema.To("second"),
		FieldDefault: schema.OneOf(AllAnswers),
	}
	waitSchema = schema.Object{FieldSeconds: schema.To("second"), FieldUntil: schema.Wording(MaxMessage)}
	eachSchema = schema.Object{
		FieldItems:    schema.Object{"type": []string{"string", "number", "boolean"}, "pattern": `\S`},
		FieldParallel: schema.With(schema.Whole(0, MaxParallel), "default", DefaultParallel),
		FieldMax:      schema.With(schema.Whole(0, MaxItems), "default", MaxItems),
	}
)

func stepSchema() schema.Object {
	ids := schema.Object{"type": "array", "items": schema.To("id"), "uniqueItems": true, "maxItems": MaxSteps}
	join := []schema.Object{{"enum": []any{"all", "any", nil}}, schema.Digits(1, MaxSteps)}
	step := schema.Mapping(stepFields, schema.Object{
		FieldID:       schema.To("id"),
		FieldName:     schema.Wording(MaxName),
		FieldNeeds:    schema.Object{"anyOf": []schema.Object{schema.To("id"), ids, schema.NoValue}},
		FieldJoin:     schema.Object{"anyOf": join, "default": "all"},
		FieldIf:       schema.With(schema.Wording(0), "default", "success()"),
		FieldJob:      schema.OrNothing(schema.To("ref")),
		FieldFlow:     schema.OrNothing(schema.To("ref")),
		FieldApprove:  schema.OrNothing(schema.Mapping(askFields, approveSchema)),
		FieldWait:     schema.OrNothing(schema.With(schema.Mapping(waitFields, waitSchema), "oneOf", []schema.Object{schema.Says(FieldSeconds, schema.NoNumber), schema.Says(FieldUntil, schema.NoText)})),
		FieldParam:    schema.Wording(MaxParam),
		FieldForeach:  schema.OrNothing(schema.Mapping(eachFields, eachSchema, FieldItems)),
		FieldTimeout:  schema.To("second"),
		FieldRetries:  schema.Whole(0, MaxRetries),
		FieldBackoff:  schema.Wording(MaxBackoff),
		FieldContinue: schema.Object{"type": []string{"boolean", "null"}, "default": false},
	}, FieldID)
	var kinds []schema.Object
	for _, k := range AllKinds {
		kinds = append(kinds, schema.Says(string(k), schema.NoValue))
	}
	step["if"] = schema.Object{"anyOf": []schema.Object{schema.Says(FieldApprove, schema.NoValue), schema.Says(FieldWait, schema.NoValue)}} // which have no runs
	step["then"] = schema.Object{"properties": schema.Object{FieldParam: schema.NoValue, FieldForeach: schema.NoValue, FieldRetries: schema.NoValue, FieldTimeout: schema.NoNumber, FieldBackoff: schema.NoText}}
	return schema.With(step, "oneOf", kinds)
}
