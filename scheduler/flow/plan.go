package flow

import (
	"github.com/punctual-job/punctual/scheduler/expr"
)

// What may be wrong with a definition: the keys of the messages, with the arguments that these may use.
const (
	CodeRequired   = "job.error.required"
	CodeTooLong    = "job.error.too_long"     // Max
	CodeOutOfRange = "job.error.out_of_range" // Min, Max
	CodeUnknown    = "job.error.unknown"      // Value, Values
	CodeCharacters = "job.error.characters"
	CodeMany       = "flow.error.many"        // Max: steps
	CodeID         = "flow.error.id"          // Value
	CodeSameID     = "flow.error.same_id"     // Value
	CodeNeeds      = "flow.error.needs"       // Value: a step that there is not
	CodeNeedsTwice = "flow.error.needs_twice" // Value
	CodeCycle      = "flow.error.cycle"       // Ring: the steps that need each other
	CodeJoin       = "flow.error.join"        // Max: how many needs there are
	CodeNoKind     = "flow.error.no_kind"     // the step does nothing
	CodeKinds      = "flow.error.kinds"       // First, Second: it does two things
	CodeNotOf      = "flow.error.not_of"      // Field, Kind: a step of this kind has no such field
	CodeWait       = "flow.error.wait"        // neither so long nor until when, or both
	CodeMoment     = "flow.error.moment"      // Value
	CodeNever      = "flow.error.never"       // the step never starts
	CodeOutput     = "flow.error.output"      // Value: what is no name of an output, or is one twice
	CodeOutputs    = "flow.error.outputs"     // Max: outputs
	CodeNotBefore  = "flow.error.not_before"  // Value: a step that is read and need not have ended
	CodeBackoff    = "job.error.backoff"      // Value
	CodePlanned    = "job.error.planned."     // begins the codes of an [expr.Part]; Value
	CodeExpr       = "flow.error.expr."       // begins the codes of an [expr.Kind]; Expression, Text, Reason

	CodeItems     = "flow.error.items"      // Count, Max: the list is too long
	CodeParamLong = "flow.error.param_long" // Max: the evaluated parameter does not fit
	CodeNoJob     = "flow.error.no_job"     // Value: what the step was to run, which does not exist when it starts
	CodeItself    = "flow.error.itself"     // Value: the flow that would start itself
)

// MaxParam is how many bytes the parameter of a run has.
const MaxParam = 65535

// The names of the fields of a flow and its steps.
const (
	FieldOnFailure = "on_failure"
	FieldSteps     = "steps"
	FieldOutputs   = "outputs"
	FieldID        = "id"
	FieldName      = "name"
	FieldNeeds     = "needs"
	FieldJoin      = "join"
	FieldIf        = "if"
	FieldJob       = "job"
	FieldFlow      = "flow"
	FieldApprove   = "approve"
	FieldWait      = "wait"
	FieldParam     = "parameter"
	FieldForeach   = "foreach"
	FieldTimeout   = "timeout_seconds"
	FieldRetries   = "retries"
	FieldBackoff   = "retry_backoff"
	FieldContinue  = "continue_on_error"

	FieldMessage  = "message"
	FieldDefault  = "default"
	FieldSeconds  = "seconds"
	FieldUntil    = "until"
	FieldItems    = "items"
	FieldParallel = "parallel"
	FieldMax      = "max"
)

// Plan is a definition that holds together, with its expressions read. It is read-only and safe for concurrent use, and worth keeping: runs
// of a version have the same one.
type Plan struct {
	def   *Definition
	steps []step
	order []int // each after what it needs

	outputs []*expr.Program
}

// step is what a plan knows of a step.
type step struct {
	*Step
	needs     []int
	ancestors []int
	followers []int // all that need it, directly or not
	condition *expr.Program
	items     *expr.Program
	param     *expr.Template
	text      *expr.Template // of an approval or a wait
}

// Compile makes a plan of a definition, or says what is wrong with it. Whether its jobs exist and may be used is asked by [Validate].
func Compile(def *Definition) (*Plan, Faults) {
	c := &compiler{def: def, plan: &Plan{def: def, steps: make([]step, len(def.Steps))}, index: make(map[string]int)}
	c.definition()
	if len(c.faults) > 0 {
		return nil, c.sorted()
	}
	return c.plan, nil
}

// Definition is what the plan was made of.
func (p *Plan) Definition() *Definition { return p.def }

// Index is the place of a step.
func (p *Plan) Index(id string) (int, bool) {
	for i := range p.steps {
		if p.steps[i].ID == id {
			return i, true
		}
	}
	return 0, false
}
