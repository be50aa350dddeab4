// Package db is everything that is said to a database: the connections ([Open], [Pool]), the migrations, and the statements. Rows
// come out of it as they are stored; what they mean is said elsewhere.
//
// # Where a statement belongs
//
//   - queries/*.sql, one file a table, from which sqlc makes *.sql.go and gen_*.go (make generate): every statement whose text is
//     the same for everybody who sends it. That is nearly all of them, and where a new one goes. It runs on MariaDB, on MySQL from
//     5.7 on, and through the rewriter of package sqlite: TestEveryQuery sends each one, and plan_test.go holds the hot ones to their
//     indexes.
//   - bulk.go: one statement for many rows, whose text grows with them, which sqlc cannot write: a CASE for each id (caseUpdate), rows
//     of VALUES (bulkInsert). Never more than [MaxBatch] rows. What a run passes on its way stands there: claims, sendings, results; what
//     is about other tables has files of its own (flows.go, outputs.go, pulls.go).
//   - find*.go: what people look for with conditions that they choose. Only the conditions that are asked for stand in the text, so
//     that each combination finds its index; a filter is a struct, and its zero value finds everything.
//   - A file of its own, where several statements make one answer or one change: outcomes.go, nthrun.go, schedules.go (a change of
//     a job, and its history in the same transaction).
//
// A statement is never put together from outside text: values are arguments.
package db
