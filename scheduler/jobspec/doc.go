// Package jobspec is what a job definition may say: its schedule type, route strategy and misfire strategy, what makes a
// definition valid ([Validate]), when it is due next ([Next]), and what to do with the due times that lie behind
// ([Decide]). Everything here is pure: the clock, the zone and the stored times come in as arguments.
//
// Block strategies and GLUE types are the executor's vocabulary and live in executor/wire; only their display order is here.
package jobspec
