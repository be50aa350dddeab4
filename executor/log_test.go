//go:build go1.26

package executor

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestPage(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", pageBytes+10)
	for name, tc := range map[string]struct {
		text  string
		from  int
		final bool
		want  string
		to    int
		end   bool
	}{
		"all":                             {"a\nb\nc\n", 1, true, "a\nb\nc\n", 3, true},
		"from the middle":                 {"a\nb\nc\n", 2, true, "b\nc\n", 3, true},
		"beyond the end":                  {"a\nb\n", 9, true, "", 8, true},
		"from zero":                       {"a\n", 0, true, "a\n", 1, true},
		"from below":                      {"a\n", -5, true, "a\n", 1, true},
		"an empty file":                   {"", 1, true, "", 0, true},
		"a last line still being written": {"a\nb", 1, false, "a\n", 1, true},
		"a last line without its end":     {"a\nb", 1, true, "a\nb\n", 2, true},
		"Windows line ends":               {"a\r\nb\r\n", 1, true, "a\r\nb\r\n", 2, true},
		"a line longer than an answer":    {long + "\nb\n", 1, true, long[:pageBytes] + "… (line cut)\n", 1, false},
		"as many lines as fit":            {strings.Repeat("l\n", pageLines+1), 1, true, strings.Repeat("l\n", pageLines), pageLines, false},
		"the rest of them":                {strings.Repeat("l\n", pageLines+1), pageLines + 1, true, "l\n", pageLines + 1, true},
	} {
		got, to, _, end, err := page(strings.NewReader(tc.text), position{}, tc.from, pageBytes, tc.final)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != tc.want || to != tc.to || end != tc.end {
			t.Errorf("%s: %d bytes to line %d, end %v; want %d bytes to line %d, end %v", name, len(got), to, end, len(tc.want), tc.to, tc.end)
		}
	}
}

// FuzzPage reads a text piece by piece, from bookmarks and without, and must get the text.
func FuzzPage(f *testing.F) {
	f.Add("a\nb\n\nc", 2, uint8(3))
	f.Add(strings.Repeat("line\n", 12_000), -1, uint8(0))
	f.Fuzz(func(t *testing.T, text string, from int, grow uint8) {
		if got, to, next, _, err := page(strings.NewReader(text), position{}, from, pageBytes, false); err != nil || to < max(from, 1)-1 || next.offset > int64(len(text)) || len(got) > pageBytes+40 {
			t.Fatalf("from %d: %d bytes, to %d, next %+v, %v", from, len(got), to, next, err)
		}
		if strings.Count(text, "\n") > 0 && len(text) > pageBytes {
			return // cut lines are not put together again
		}
		want := text
		if text != "" && !strings.HasSuffix(text, "\n") {
			want += "\n"
		}
		for _, useMarks := range []bool{true, false} {
			var all strings.Builder
			var mark position
			// The file grows while it is read: first only a part of it is there.
			part := min(int(grow), len(text))
			for line := 1; ; {
				at := position{}
				if useMarks {
					at = mark
				}
				final := part == len(text)
				got, to, next, end, err := page(strings.NewReader(text[:part]), at, line, pageBytes, final)
				if err != nil {
					t.Fatal(err)
				}
				all.Write(got)
				mark, line = next, to+1
				if end && final {
					break
				}
				if end {
					part = len(text)
				}
			}
			if all.String() != want {
				t.Errorf("marks %v: got %q, want %q", useMarks, all.String(), want)
			}
		}
	})
}

func newTestStore(t *testing.T) *logStore {
	t.Helper()
	s, err := openLogStore(filepath.Join(t.TempDir(), "logs"), 1000, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

func (s *logStore) content(t *testing.T, logID int64, triggered time.Time) string {
	t.Helper()
	file, err := s.find(logID, triggered)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var b bytes.Buffer
	if _, err := b.ReadFrom(file); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// opened is the log of a run of handler h that has begun.
func opened(s *logStore, logID int64, at time.Time, param string) *runLog {
	l := s.open(logID, at)
	l.handler = "h"
	l.begin(at, param)
	return l
}

func TestRunLogIsBounded(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	now := time.Now()
	l := opened(s, 1, now, "line\nbreak")
	for range 100 {
		if n, err := l.Write([]byte("0123456789012345678901234567890123456789\n")); n != 41 || err != nil {
			t.Fatal(n, err)
		}
	}
	l.finish(now, 200, "the end")
	l.close()
	got := s.content(t, 1, now)
	if len(got) > 1300 || strings.Count(got, "log truncated") != 1 || !strings.HasSuffix(got, "the end\n") || !strings.Contains(got, "Param: line⏎break\n") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	if l.trouble() != "" {
		t.Error("a full log is no trouble")
	}
}

func TestNeighbouringDaysAreTried(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	triggered := time.Date(2026, 3, 29, 23, 59, 59, 900e6, time.Local)
	l := opened(s, 5, triggered, "")
	l.line(triggered, 0, "hello")
	l.close()
	for _, asked := range []time.Time{triggered, triggered.Add(time.Second), triggered.AddDate(0, 0, -1)} {
		if got := s.content(t, 5, asked); !strings.Contains(got, "hello") {
			t.Errorf("asked at %v: %q", asked, got)
		}
	}
	if _, err := s.find(5, triggered.AddDate(0, 0, 3)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("three days later: %v", err)
	}
}

// TestDaysAreCountedBesideAMidnightThatThereIsNot: on the 6th of September 2026 clocks in Santiago go from midnight to one o'clock, and Go takes
// what lies between for an hour of the 5th.
func TestDaysAreCountedBesideAMidnightThatThereIsNot(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("America/Santiago")
	if err != nil {
		t.Fatal(err)
	}
	s := newTestStore(t)
	for id, day := range map[int64]int{5: 5, 6: 6, 7: 7} {
		triggered := time.Date(2026, 9, day, 12, 0, 0, 0, zone)
		l := opened(s, id, triggered, "")
		l.line(triggered, 0, "hello")
		l.close()
	}
	for _, c := range []struct {
		id  int64
		day int
	}{{6, 6}, {6, 7}, {6, 5}, {5, 6}, {7, 6}} {
		asked := time.Date(2026, 9, c.day, 0, 30, 0, 0, zone)
		if c.day == 6 {
			asked = asked.Add(time.Hour)
		}
		if got := s.content(t, c.id, asked); !strings.Contains(got, "hello") {
			t.Errorf("the log of the %dth, asked at %v: %q", c.id, asked, got)
		}
	}
	for _, at := range []struct {
		now     time.Time
		removed int
	}{{time.Date(2026, 9, 8, 23, 59, 0, 0, zone), 0}, {time.Date(2026, 9, 9, 0, 1, 0, 0, zone), 1}, {time.Date(2026, 9, 9, 23, 59, 0, 0, zone), 0}, {time.Date(2026, 9, 10, 0, 1, 0, 0, zone), 1}} {
		if removed, err := s.clean(at.now, 3); err != nil || removed != at.removed {
			t.Errorf("%d removed at %v, %v; want %d", removed, at.now, err, at.removed)
		}
	}
}

func TestCleaningRemovesOnlyOldDays(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	now := time.Date(2026, 5, 31, 12, 0, 0, 0, time.Local)
	for _, day := range []string{"2026-05-31", "2026-05-28", "2026-05-27", "2025-12-31", "not-a-day", "2026-05-01x"} {
		if err := s.root.Mkdir(day, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := s.clean(now, 3)
	if err != nil || removed != 2 {
		t.Errorf("%d removed, %v; want 2", removed, err)
	}
	for day, want := range map[string]bool{"2026-05-31": true, "2026-05-28": true, "2026-05-27": false, "2025-12-31": false, "not-a-day": true} {
		if _, err := s.root.Stat(day); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", day, err == nil, want)
		}
	}
}

func TestAFullDiskOnlyCostsLogLines(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	full := true
	s.write = func(f *os.File, p []byte) (int, error) {
		if full {
			n, _ := f.Write(p[:len(p)/2])
			return n, &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
		}
		return f.Write(p)
	}
	now := time.Now()
	l := opened(s, 1, now, "")
	told := 0
	l.onTrouble = func(error) { told++ }
	for i := range 3 {
		if n, err := fmt.Fprintf(l, "line %d\n", i); n != 7 || err != nil {
			t.Errorf("the writer sees the full disk: %d, %v", n, err)
		}
	}
	full = false
	_, _ = fmt.Fprintln(l, "room again")
	l.close()
	if told != 1 || l.trouble() != "[the run log is incomplete: no space left on device]" {
		t.Errorf("told %d times: %q", told, l.trouble())
	}
	if got := s.content(t, 1, now); !strings.Contains(got, "room again") {
		t.Errorf("content %q", got)
	}
}

func TestQuietRunsAreRememberedBeyondTheirFiles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestStore(t)
		now := time.Now()
		count := func() (files, memory int) {
			t.Helper()
			for id := range int64(quietUnfiled * 4) {
				if file, err := s.find(id, now); err == nil {
					_ = file.Close()
					if got := s.content(t, id, now); !strings.HasSuffix(got, "end\n") {
						t.Errorf("run %d: %q", id, got)
					}
					files++
				}
				if text, ok := s.remembered(id); ok && strings.HasSuffix(text, "end\n") {
					memory++
				}
			}
			return files, memory
		}
		for id := range int64(quietUnfiled * 4) {
			l := opened(s, id, now, "")
			l.finish(now, 200, "end")
			l.close()
		}
		// Many runs that come at once do not wait for the file system.
		if files, memory := count(); files != 0 || memory != quietUnfiled*4 {
			t.Errorf("at once: %d in files, %d in memory", files, memory)
		}
		time.Sleep(10 * quietEvery)
		synctest.Wait()
		if files, _ := count(); files != 10 {
			t.Errorf("after a moment: %d in files", files)
		}
		time.Sleep(2 * quietUnfiled * quietEvery)
		synctest.Wait()
		if files, _ := count(); files != quietUnfiled {
			t.Errorf("in the end: %d in files", files)
		}
	})
}

// TestWhatIsWrittenAfterAQuietRunHasEndedComesAfterItsEnd: whoever has read the lines that were kept in memory goes on after them.
func TestWhatIsWrittenAfterAQuietRunHasEndedComesAfterItsEnd(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	now := time.Now()
	l := opened(s, 1, now, "")
	l.ending.Add(1)
	l.end(now, 500, "killed")
	read, _ := l.text()
	_, _ = fmt.Fprintln(l, "the handler goes on")
	l.close()
	if got := s.content(t, 1, now); !strings.Contains(read, "= killed\n") || got != read+"the handler goes on\n" {
		t.Errorf("at first %q, in the file %q", read, got)
	}
}

// TestALogWhoseFileCouldNotBeMadeHasItsEnd, once there is room: also where no other line comes.
func TestALogWhoseFileCouldNotBeMadeHasItsEnd(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	now := time.Now()
	inTheWay := filepath.Join(s.root.Name(), dayOf(now))
	if err := os.WriteFile(inTheWay, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l := opened(s, 1, now, "")
	_, _ = fmt.Fprintln(l, "lost")
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	l.finish(now, 200, "ok")
	l.close()
	if got, all := s.content(t, 1, now), l.opening()+l.closing(); got != all || l.trouble() == "" {
		t.Errorf("%q, want %q; %q", got, all, l.trouble())
	}
}

func TestQuietRunsHaveTheirFilesWhenTheExecutorEnds(t *testing.T) {
	t.Parallel()
	dir, now := filepath.Join(t.TempDir(), "logs"), time.Now()
	for range 2 {
		s, err := openLogStore(dir, 1000, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if file, err := s.find(1, now); err == nil {
			_ = file.Close()
			s.close()
			return
		}
		l := opened(s, 1, now, "")
		l.finish(now, 200, "end")
		l.close()
		s.close()
	}
	t.Error("it has no file")
}

// TestARunThatSpeaksIsNotTheQuietOneOfItsNumber is what happens when an admin's database was made anew.
func TestARunThatSpeaksIsNotTheQuietOneOfItsNumber(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // in which no file is made behind its back
		s := newTestStore(t)
		now := time.Now()
		opened(s, 1, now, "").close()
		l := opened(s, 1, now, "")
		_, _ = l.Write([]byte("news\n"))
		l.close()
		s.file(quietUnfiled)
		if text, ok := s.remembered(1); ok {
			t.Errorf("remembered: %q", text)
		}
		if got := s.content(t, 1, now); !strings.HasSuffix(got, "news\n") || strings.Count(got, "Param") != 1 {
			t.Errorf("%q", got)
		}
	})
}
