package archive

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor/executortest"
)

// s3Server starts a server that speaks S3, which is built from a Go module (tools/s3), and gives the place of a bucket that it has. It is no
// process of ours where TEST_S3 names another.
func s3Server(t *testing.T) (place string, process *os.Process) {
	t.Helper()
	required := os.Getenv("TEST_S3") == "required"
	if place := os.Getenv("TEST_S3"); place != "" && !required {
		return place, nil
	}
	if testing.Short() {
		t.Skip("building a server takes a minute and is left out with -short")
	}
	program := filepath.Join(t.TempDir(), "versitygw")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/versity/versitygw/cmd/versitygw")
	build.Dir = filepath.Join("..", "..", "tools", "s3")
	build.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil && !required {
		t.Skipf("a server that speaks S3 cannot be built: %v\n%s", err, out)
	} else if err != nil {
		t.Fatalf("build a server that speaks S3: %v\n%s", err, out)
	}
	data := t.TempDir()
	if err := os.Mkdir(filepath.Join(data, "outputs"), 0o700); err != nil { // a bucket
		t.Fatal(err)
	}
	address := "127.0.0.1:" + executortest.FreePort(t)
	var said executortest.Output
	server := exec.Command(program, "--access", "outputs", "--secret", "outputs-secret", "--port", address, "posix", "--nometa", data)
	server.Stdout, server.Stderr = &said, &said
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait() // it was killed
		if t.Failed() {
			t.Logf("the server said\n%s", said.String())
		}
	})
	client := http.Client{Timeout: 5 * time.Second}
	executortest.Eventually(t, "the server listens", func() error {
		answer, err := client.Get("http://" + address + "/")
		if err != nil {
			return err
		}
		return answer.Body.Close()
	})
	return fmt.Sprintf("s3://outputs:outputs-secret@%s/outputs/some/where?plain=true", address), server.Process
}
