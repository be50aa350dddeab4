package route

import (
	"context"
	"sync"
)

// probesAtOnce bounds how many executors one run asks at the same time.
const probesAtOnce = 8

// Reply is what one executor answered to a beat or an idle beat.
type Reply struct {
	Address string
	OK      bool
	Silent  bool   // it did not answer
	Text    string // code and message, or the error
}

// Probe asks the addresses and gives the first of them, in their order, that says yes; "" when none does. It asks several
// at once but waits only for those before the winner, so that one dead executor costs one time-out and not one each. The
// replies are those that are known when the choice is made, in order.
func Probe(ctx context.Context, addresses []string, ask func(ctx context.Context, address string) Reply) (string, []Reply) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make([]chan Reply, len(addresses))
	for i := range answers {
		answers[i] = make(chan Reply, 1)
	}
	slots := make(chan struct{}, probesAtOnce)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i, a := range addresses {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			wg.Go(func() {
				defer func() { <-slots }()
				answers[i] <- ask(ctx, a)
			})
		}
	})
	var replies []Reply
	chosen := ""
	for i := range addresses {
		select {
		case r := <-answers[i]:
			replies = append(replies, r)
			if r.OK {
				chosen = r.Address
			}
		case <-ctx.Done():
			replies = append(replies, Reply{Address: addresses[i], Silent: true, Text: ctx.Err().Error()})
		}
		if chosen != "" {
			break
		}
	}
	cancel()
	wg.Wait()
	return chosen, replies
}
