// Package tracing makes OpenTelemetry traces of runs: for each run one trace, of its claim, its wait, the calls to its executor, its execution
// and the writing of its result.
//
// A trace is made when its run has ended, from what is on record of the run: the times of its events. So it is whole whichever admins
// claimed, sent, took over and finished the run, nothing of it is held in memory while the run goes on, and the engine does no
// more for it than say that a run has ended. The ids follow from the run ([Tracer.Place]), so that the executor can be told its place in a
// trace that does not exist yet, and every admin tells the same.
//
// The engine never waits for the collector. Ended runs go into a bounded queue, their rows are read by a goroutine that does nothing
// else, and their spans go into another bounded queue. A trace that does not fit is dropped whole, and counted.
package tracing
