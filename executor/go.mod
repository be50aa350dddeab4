module github.com/punctual-job/punctual/executor

go 1.23
