package pull_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/pull"
)

// TestTheManualsNumbers are those of the program.
func TestTheManualsNumbers(t *testing.T) {
	t.Parallel()
	say := message.NewPrinter(language.English).Sprintf
	grace, every := int(pull.Grace/time.Second), int(pull.SeenEvery/time.Second)
	for page, sentences := range map[string][]string{
		"executor.md": {
			say("and %d requests wait at one admin.", pull.MaxPulls),
			say("at most %d or %d MiB of one executor, %d or %d MiB in all.", pull.MaxWaiting, pull.MaxWaitingBytes>>20, pull.MaxAllWaiting, pull.MaxAllBytes>>20),
			say("for %d s longer than its requests last", grace), say("through the database every %d s.", every),
		},
		"zh-CN/executor.md": {
			say("一个节点上等待的请求最多 %d 个", pull.MaxPulls),
			say("单个执行器最多 %d 个或 %d MiB，全部最多 %d 个或 %d MiB", pull.MaxWaiting, pull.MaxWaitingBytes>>20, pull.MaxAllWaiting, pull.MaxAllBytes>>20),
			say("请求时长加 %d 秒", grace), say("每 %d 秒经数据库互相告知", every),
		},
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", filepath.FromSlash(page)))
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

// TestSoManyRequestsWaitAtOneAdmin, and one more is refused, until one of them has ended.
func TestSoManyRequestsWaitAtOneAdmin(t *testing.T) {
	t.Parallel()
	clock := new(handClock)
	a := newAdmin(t, dbtest.New(t, db.SQLite), false, clock.use)
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer cancel()
	of := func(i int) wire.PullRequest {
		return wire.PullRequest{RegistryKey: "orders", RegistryValue: fmt.Sprint("pull://n-", i/16), Instance: "i.1", Pull: fmt.Sprint("p-", i), Max: 1, Wait: 25_000}
	}
	for i := range 20_000 {
		waiting.Go(func() {
			// Whoever has waited for as long as a request may asks again.
			for n := 0; ctx.Err() == nil; n++ {
				req := of(i)
				req.Pull += fmt.Sprint("-", n)
				if _, err := a.Pull(ctx, req); err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	eventually(t, "all wait", func() bool { return a.Open() == 20_000 })
	more := of(20_000)
	eventually(t, "one more is refused", func() bool {
		short, end := context.WithTimeout(ctx, 20*time.Millisecond)
		defer end()
		_, err := a.Pull(short, more)
		return errors.Is(err, pull.ErrTooMany)
	})
	if pull.MaxPulls != 20_000 {
		t.Errorf("%d wait", pull.MaxPulls)
	}
}
