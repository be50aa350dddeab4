// Package jobspec is what a job definition may say: its schedule type, route strategy and misfire strategy, what makes a
// definition valid ([Validate]), when it is due next ([Next]), and what to do with the due times that lie behind
// ([Decide]). Everything here is pure: the clock, the zone and the stored times come in as arguments.
//
// Block strategies and GLUE types are the executor's vocabulary and live in executor/wire; only their display order is here.
//
// # The fields of a definition
//
// [Job] and [Fields] stand in job.go, one entry of the table for each part of a definition: what it is called in the form, in the
// database, in a job file and in XXL-JOB's two interfaces, where it is in a [Job], what may stand in it and what it is at first.
// Whatever reads, writes, compares or explains a definition goes through the table and names no field that has no rule of its own:
//
//   - [Validate], [Read], [Job.WithDefaults], [Job.WithOptionsOf] and [Job.Fingerprint] here;
//   - app/console: the form in and out, its last section, what changed meanwhile, the words of an import;
//   - app/manage: what the audit log keeps, what an import changes; app/manage/jobfile: a file's fields;
//   - app/openapi and app/legacy: what programs send, and the names in what is refused;
//   - docs/jobfile.md: the table of fields.
//
// An entry's accessor is a function to a typed pointer, so the compiler knows what is stored; db.Job.Spec and db.JobRow, which
// are plain assignments, lead from a row to a definition and back. A test by reflection names every part that is in no entry.
package jobspec
