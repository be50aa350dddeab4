//go:build go1.26

package executor

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// TestTheManualsNumbersAboutAsking are those of the program.
func TestTheManualsNumbersAboutAsking(t *testing.T) {
	t.Parallel()
	for page, sentences := range map[string][]string{
		"executor.md": {
			fmt.Sprintf("Requests last up to %d s, behind a balancer %d s;", pullWait/time.Second, sharedWait/time.Second),
			fmt.Sprintf("is noticed after %d s at the latest, behind a balancer after %d s, or after %d ms where the beginning of an answer comes through at once; for the next %d s there are %d requests more then, and they last %d s. %d calls are under way at once",
				(pullWait+pullGrace)/time.Second, (sharedWait+sharedGrace)/time.Second, (wire.PullEarly+silence)/time.Millisecond, troubleFor/time.Second, troubleMore, troubleWait/time.Second, maxPulled),
		},
		"zh-CN/executor.md": {
			fmt.Sprintf("请求最长持续 %d 秒，在负载均衡之后为 %d 秒", pullWait/time.Second, sharedWait/time.Second),
			fmt.Sprintf("最迟 %d 秒后被发现，在负载均衡之后为 %d 秒，若应答的开头能立即传到则为 %d 毫秒；此后 %d 秒内会多开 %d 个请求，每个持续 %d 秒。同时进行的调用最多 %d 个",
				(pullWait+pullGrace)/time.Second, (sharedWait+sharedGrace)/time.Second, (wire.PullEarly+silence)/time.Millisecond, troubleFor/time.Second, troubleMore, troubleWait/time.Second, maxPulled),
		},
	} {
		text, err := os.ReadFile(filepath.Join("..", "docs", filepath.FromSlash(page)))
		if os.IsNotExist(err) {
			t.Skip("the manual is not here: the module is on its own")
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sentences {
			if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), s) {
				t.Errorf("%s does not say %q", page, s)
			}
		}
	}
}

// frozen is an admin that takes a request and says nothing.
type frozen struct {
	asked wire.PullRequest
	gave  time.Duration // until the executor gave it up
}

func (f *frozen) RoundTrip(r *http.Request) (*http.Response, error) {
	began := time.Now()
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &f.asked)
	}
	if err != nil {
		return nil, err
	}
	<-r.Context().Done()
	f.gave = time.Since(began)
	return nil, r.Context().Err()
}

// TestAFrozenAdminIsNoticedInTime, and the pull that it holds is told of in the next.
func TestAFrozenAdminIsNoticedInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := new(frozen)
		p := newPuller(boxed(t, f, "http://admin"))
		p.places = []place{{admins: 1}}
		a := p.newAsker(0, 0)
		how, _ := p.manner(a)
		if _, err := a.once(t.Context(), how); err == nil {
			t.Fatal("it answered")
		}
		if f.asked.Wait != 10_000 || f.gave != 15*time.Second {
			t.Errorf("it was asked to wait %d ms, and given up after %s", f.asked.Wait, f.gave)
		}
		if next := p.request(how); len(next.Lost) != 1 || next.Lost[0] != f.asked.Pull {
			t.Errorf("the next tells of %v", next.Lost)
		}
	})
}
