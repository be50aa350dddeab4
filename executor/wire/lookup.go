package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// The library looks names up with files and sockets of its own, and says only in words, if at all, that it had none: a name that is not known
// and a machine that can open nothing look the same. One that cannot read where its name servers are asks this machine, and goes on with
// that for some seconds after all is well again. So where a name could not be looked up it is seen whether something can be opened.

// lookupRest is how long the library goes by what it took for the machine's name servers before it looks again: 5 s, and a little.
const lookupRest = 6 * time.Second

// shortNames tells what came of a want of files from what name servers say.
type shortNames struct {
	open func() error // something; nil: a file

	mu   sync.Mutex
	last time.Time // when nothing could be opened
	err  error     // why
}

// judge gives an error of dialling the cause that it does not name.
func (s *shortNames) judge(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if isOwn(err) {
		s.last, s.err = time.Now(), err
		return err
	}
	if _, named := as[*net.DNSError](err); !named || errors.Is(err, context.Canceled) {
		return err
	}
	open := s.open
	if open == nil {
		open = openNull
	}
	if cause := open(); isOwn(cause) {
		s.last, s.err = time.Now(), cause
	}
	if s.err == nil || time.Since(s.last) > lookupRest {
		return err
	}
	return fmt.Errorf("%w (%w)", err, s.err)
}

func openNull() error {
	file, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	return file.Close()
}

// dialJudged judges the errors of a dialler.
func dialJudged(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	var names shortNames
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, names.judge(err)
		}
		return conn, nil
	}
}
