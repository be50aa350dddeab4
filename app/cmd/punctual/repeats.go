package main

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

const (
	// repeatAfter is how long a warning is not said again in the same words: what tries every second while a database is away would
	// otherwise fill the disk of the log. What is said once a minute anyhow is never left out.
	repeatAfter = 55 * time.Second
	// mostRepeats is how many different ones are known at a time.
	mostRepeats = 1000
)

// repeats are the warnings of the last minute.
type repeats struct {
	mu   sync.Mutex
	said map[string]*repeat
}

// repeat is when something was said, and how often it came since.
type repeat struct {
	at   time.Time
	more int
}

// seldom is a handler that writes the same warning or error about once a minute, the next time with how often it came in between.
type seldom struct {
	slog.Handler
	*repeats
	within string // the groups and attributes of the logger
}

func newSeldom(h slog.Handler) seldom {
	return seldom{Handler: h, repeats: &repeats{said: make(map[string]*repeat)}}
}

// Handle implements [slog.Handler].
func (s seldom) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return s.Handler.Handle(ctx, r)
	}
	more, write := s.repeats.again(s.words(r), r.Time)
	if !write {
		return nil
	}
	if more > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("repeated", more))
	}
	return s.Handler.Handle(ctx, r)
}

// words are what a record says, but for its time.
func (s seldom) words(r slog.Record) string {
	var b strings.Builder
	b.WriteString(s.within + r.Level.String() + "\x00" + r.Message)
	r.Attrs(func(a slog.Attr) bool {
		b.WriteString("\x00" + a.String())
		return true
	})
	return b.String()
}

// again tells whether to write something now, and how often it was left out since it was written.
func (s *repeats) again(words string, now time.Time) (more int, write bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.said[words]; before != nil {
		if now.Sub(before.at) < repeatAfter {
			before.more++
			return 0, false
		}
		more = before.more
	} else if len(s.said) >= mostRepeats {
		for words, r := range s.said {
			if now.Sub(r.at) >= repeatAfter {
				delete(s.said, words)
			}
		}
		if len(s.said) >= mostRepeats {
			return 0, true
		}
	}
	s.said[words] = &repeat{at: now}
	return more, true
}

// WithAttrs implements [slog.Handler].
func (s seldom) WithAttrs(attrs []slog.Attr) slog.Handler {
	s.Handler = s.Handler.WithAttrs(attrs)
	for _, a := range attrs {
		s.within += a.String() + "\x00"
	}
	return s
}

// WithGroup implements [slog.Handler].
func (s seldom) WithGroup(name string) slog.Handler {
	s.Handler = s.Handler.WithGroup(name)
	s.within += name + "\x00"
	return s
}
