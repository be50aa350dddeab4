//go:build go1.26

package executortest_test

import (
	"net"
	"os/exec"
	"testing"

	"github.com/punctual-job/punctual/executor/executortest"
)

// TestAFreePortIsHeldAgainstOtherProcesses, which know nothing of what was handed out here, and whoever got it can listen there.
func TestAFreePortIsHeldAgainstOtherProcesses(t *testing.T) {
	t.Parallel()
	var port string
	t.Run("while the test goes on", func(t *testing.T) {
		port = executortest.FreePort(t)
		if other, err := net.ListenPacket("udp", "127.0.0.1:"+port); err == nil {
			_ = other.Close()
			t.Errorf("another process may hand port %s out as well", port)
		}
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
	})
	other, err := net.ListenPacket("udp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatalf("port %s is held after its test: %v", port, err)
	}
	_ = other.Close()
}

// TestAFreePortIsFreeWhileProgramsAreStarted: what is open when a process begins is open in it until it has become its program.
// Nothing runs beside this test, whose programs would hold what others have just closed.
func TestAFreePortIsFreeWhileProgramsAreStarted(t *testing.T) {
	enough, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-enough:
				return
			default:
				_ = exec.Command("true").Run()
			}
		}
	}()
	for range 500 {
		l, err := net.Listen("tcp", "127.0.0.1:"+executortest.FreePort(t))
		if err != nil {
			t.Error(err)
			break
		}
		_ = l.Close()
	}
	close(enough)
	<-done
}
