// Package compat tests the admin with the community's Go executor, github.com/xxl-job/xxl-job-executor-go. It is a module
// of its own, so that the client is nobody's dependency, and it starts the admin as the program that people start.
package compat
