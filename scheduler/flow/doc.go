// Package flow is what a flow may say and what is to be done next in a run of one. A flow is a job whose work is its steps: each runs
// another job or flow, waits for a person, or waits for a moment, once what it needs has ended.
//
//	text ──Parse──▶ Definition ──Compile──▶ Plan ──Next(Run, Data)──▶ Decision
//	                    └──Validate (with Jobs)──▶ Faults
//
// Everything is pure: no database, no clock. Whoever runs flows keeps a [Run] for each, applies a [Decision] to it in the same commit
// ([Run.Apply]), and calls [Plan.Next] again when the end of a step was recorded ([Run.Record]). What people do to a run ([Run.Skip],
// [Run.SetSuccess], [Run.RerunFailed], [Run.RerunFrom]) changes its states in the same manner. docs/flows.md has the meaning as a table
// of cases; each is a test here.
//
// # Outputs
//
// What a flow gives is one object of JSON, the result message of its run, and not outputs as executors report them: a step that runs the flow has it as
// any message that is JSON, values keep their kinds, and nothing more is stored. It is evaluated when the end of the run is decided, which an output
// without a value makes a failure, and again when that is written ([Plan.Outputs]), by whichever admin.
//
// # What is not here
//
// How many runs of a flow there may be at a time, how long one may take, what it is called and who may what with it are the job's own
// fields (block strategy, max_concurrent, timeout_seconds, …), because a flow is a job; the engine goes by them (scheduler/gate.go). Retries are
// the engine's, as of any run: a step is open until the last attempt of its run has ended.
package flow
