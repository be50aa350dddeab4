//go:build go1.26 && unix

package wire

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// benchServer names, in the environment of a process that a benchmark starts, what that process is.
const benchServer = "PUNCTUAL_BENCH_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(benchServer) != "" {
		serveBench()
		return
	}
	os.Exit(m.Run())
}

// serveBench answers as an executor does that has nothing else to do. It ends with its standard input.
func serveBench() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr())
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1))
		os.Exit(0)
	}()
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html;charset=UTF-8\r\nContent-Length: 12\r\nConnection: keep-alive\r\n\r\n" + okAnswer)
	for {
		conn, err := listener.Accept()
		if err != nil {
			panic(err)
		}
		go func() {
			buf := make([]byte, 64<<10)
			for {
				if _, err := conn.Read(buf); err != nil {
					return
				}
				if _, err := conn.Write(answer); err != nil {
					return
				}
			}
		}()
	}
}

// BenchmarkExecutorClientRun says what a run costs the client alone: the server is another process.
func BenchmarkExecutorClientRun(b *testing.B) {
	server := exec.Command(os.Args[0])
	server.Env = append(os.Environ(), benchServer+"=1")
	end, err := server.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		_ = end.Close()
		_ = server.Wait()
	}()
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	address = "http://" + strings.TrimSpace(address)
	client := NewExecutorClient(NewHTTPClient(64))
	defer client.Close()
	req := RunRequest{JobID: 7, ExecutorHandler: "demoJobHandler", LogID: 1, GlueType: GlueBean}
	b.ReportAllocs()
	b.SetParallelism(16)
	before := processorTime()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := client.Run(b.Context(), Target{Address: address, Token: "t"}, &req); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64((processorTime()-before).Microseconds())/float64(b.N), "cpu-µs/run")
}

// processorTime is what this process has used of the processors.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkDecodeLog reads an answer of ours to /log with ten lines.
func BenchmarkDecodeLog(b *testing.B) {
	line := "2026-03-02 12:00:00.000 INFO [worker-1] order 17 is settled, \"and\" what it was about\n"
	value, err := json.Marshal(LogResult{FromLineNum: 1, ToLineNum: 10, LogContent: strings.Repeat(line, 10), IsEnd: true})
	if err != nil {
		b.Fatal(err)
	}
	body := AppendAnswer(nil, CodeSuccess, MsgSuccess, value)
	b.ReportAllocs()
	for b.Loop() {
		answer, err := DecodeAnswer(body)
		if err != nil {
			b.Fatal(err)
		}
		if r, err := decodeLogResult(answer.Data); err != nil || r.ToLineNum != 10 {
			b.Fatal(r, err)
		}
	}
}
