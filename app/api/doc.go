// Package api is API v1: what people do in the console, for programs, at /api/v1. It is none of the two older ones: executors, and programs
// written for XXL-JOB, call package openapi; clients of XXL-JOB's console call package legacy.
//
// # What every operation has in common
//
// It calls one use case of app/manage for the owner of an API token, so that rights, rules and the audit log are those of the console. The
// token comes in the Authorization header and nowhere else: a cookie opens nothing here. [API.open] finds out who asks, in which language,
// and whether they ask too often. An error is a problem document (RFC 9457, [Problem]) with the console's message, a code for programs, and
// for each field what is wrong with it. A field, or a parameter of a query, that is not known is refused. Lists are read page by page with a
// cursor, newest first or by id, never by number. What can be changed has an ETag, which changes with every change by a person; a request
// with If-Match is done only if it is still that, and a PUT is not done without one. What creates something takes an Idempotency-Key
// ([Once]). What destroys takes dry_run.
//
// # Adding a resource
//
//  1. A file named after it: the struct of its JSON, a function that makes one of what the use case returns, and a method of API that calls
//     [add] once for each operation; the method's name goes into the list of New.
//  2. The input of an operation is a struct with huma's tags (path, query, header, Body); embed [Page], [IfMatch], [Once] or [DryRun] for what
//     is in common. `doc` says in English what a field is. Structs refuse unknown fields by themselves.
//  3. [op].names says what the fields of the use case's problem.Field are called in JSON, where that differs.
//  4. Who may call it: apiNeeds in app/apipermission_test.go, which names every operation that is missing.
//  5. What takes an If-Match works in db.Pool.InTurn, or by a guarded statement, and stands in contests of app/atonce_test.go.
//  6. The Chinese of each new text of the document: testdata/reference.zh-CN.json. UPDATE=1 go test ./app/api then writes openapi.json and the
//     manual's reference in both languages.
//  7. Its example belongs into docs/api.md and its twin, where TestTheRequestsOfTheManual runs it.
//
// A job's fields are never written here: [jobBody] and its schemas are made of jobspec.Fields, with the names of job files.
//
// # Why huma
//
// The document must not be able to differ from the code. huma makes it of the handlers' types, validates by the very same schema, runs on
// Echo, and its core imports nothing but the standard library. With oapi-codegen the document would be written by hand and the code follow
// from it: a job's fields would stand in it a second time, beside their table, and validation is another library (kin-openapi). What huma
// says about invalid values is English; its texts are formats that problem.go translates by name, so that no word of it is seen.
package api
