//go:build go1.26

package executor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

func openTestJournal(t testing.TB, dir string) *journal {
	t.Helper()
	j, err := openJournal(dir, false, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// states tells, for every live run, how far the journal knows it to be.
func (j *journal) states() map[int64]string {
	out := map[int64]string{}
	for id, e := range j.live {
		switch {
		case e.result != nil:
			out[id] = fmt.Sprintf("finished %d", e.result.HandleCode)
		case e.started:
			out[id] = "started"
		default:
			out[id] = "waiting"
		}
	}
	return out
}

func runBody(logID int64) []byte {
	body, _ := json.Marshal(wire.RunRequest{LogID: logID, LogDateTime: 1000 + logID, GlueType: wire.GlueBean})
	return body
}

// fill writes one run of every kind: 1 waits, 2 began at once, 3 began after waiting, 4 is finished, 5 is acknowledged.
func fill(t *testing.T, j *journal) {
	t.Helper()
	for id := range int64(5) {
		if err := j.accept(id+1, 1000, runBody(id+1), id+1 == 2).wait(); err != nil {
			t.Fatal(err)
		}
	}
	_ = j.started(3).wait()
	_ = j.finished(&wire.Callback{LogID: 4, HandleCode: 200, HandleMsg: "ok"}).wait()
	five := &wire.Callback{LogID: 5, HandleCode: 500}
	_ = j.finished(five).wait()
	j.acknowledged([]*wire.Callback{five})
}

var filled = map[int64]string{1: "waiting", 2: "started", 3: "started", 4: "finished 200"}

func wantStates(t *testing.T, j *journal, want map[int64]string) {
	t.Helper()
	got := j.states()
	if fmt.Sprint(got) != fmt.Sprint(want) { // maps print sorted
		t.Errorf("journal knows %v, want %v", got, want)
	}
}

func TestJournalRemembers(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(*testing.T, string, *journal){
		"after it was closed": func(*testing.T, string, *journal) {},
		"from a snapshot":     func(t *testing.T, _ string, j *journal) { must(t, j.rotate(nil)) },
		"from two snapshots":  func(t *testing.T, _ string, j *journal) { must(t, j.rotate(nil)); must(t, j.rotate(nil)) },
		"with a torn record": func(t *testing.T, dir string, _ *journal) {
			appendTo(t, dir, appendRecord(nil, recordStarted, appendID(nil, 1))[:14])
		},
		"with a damaged one": func(t *testing.T, dir string, _ *journal) {
			appendTo(t, dir, []byte{9, 0, 0, 0, 1, 2, 3, 4, 3, 1, 0, 0, 0, 0, 0, 0, 0})
		},
		"with zeros at its end": func(t *testing.T, dir string, _ *journal) { appendTo(t, dir, make([]byte, 100)) },
		"with a half-made successor": func(t *testing.T, dir string, j *journal) {
			must(t, os.WriteFile(filepath.Join(dir, journalName(j.number+1)+".tmp"), []byte("half"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			first := openTestJournal(t, dir)
			go first.run()
			fill(t, first)
			first.close()
			reopened := openTestJournal(t, dir)
			again(t, dir, reopened)
			must(t, reopened.file.Close())

			j := openTestJournal(t, dir)
			wantStates(t, j, filled)
			for id := range int64(5) {
				if j.seen.add(id+1, 1000) {
					t.Errorf("id %d is forgotten", id+1)
				}
			}
			if req, err := wire.DecodeRun(j.live[1].body); err != nil || req.LogID != 1 {
				t.Errorf("request %+v, %v", req, err)
			}
			if cb := j.live[4].result; cb.HandleMsg != "ok" {
				t.Errorf("result %+v", cb)
			}
			// What is written now must be readable: nothing of a torn record may be left before it.
			go j.run()
			must(t, j.accept(9, 1000, runBody(9), false).wait())
			j.close()
			last := openTestJournal(t, dir)
			defer last.file.Close()
			if last.states()[9] != "waiting" {
				t.Errorf("a run accepted after the repair is lost: %v", last.states())
			}
			if names, err := journalFiles(dir); err != nil || len(names) != 1 {
				t.Errorf("files %v, %v", names, err)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func appendTo(t *testing.T, dir string, tail []byte) {
	t.Helper()
	names, err := journalFiles(dir)
	must(t, err)
	file, err := os.OpenFile(filepath.Join(dir, names[len(names)-1]), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = file.Write(tail)
	must(t, err)
	must(t, file.Close())
}

func TestJournalOnAFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		j := openTestJournal(t, dir)
		var full atomic.Bool
		j.writeAt = func(f *os.File, p []byte, offset int64) (int, error) {
			if full.Load() {
				n, _ := f.WriteAt(p[:len(p)/2], offset)
				return n, syscall.ENOSPC
			}
			return f.WriteAt(p, offset)
		}
		go j.run()
		must(t, j.accept(1, 1000, runBody(1), true).wait())
		full.Store(true)
		for id := range int64(3) {
			if err := j.accept(id+2, 1000, runBody(id+2), false).wait(); err == nil {
				t.Errorf("run %d is accepted on a full disk", id+2)
			}
		}
		// The one that runs can end nevertheless.
		if err := j.finished(&wire.Callback{LogID: 1, HandleCode: 200}).wait(); err == nil {
			t.Error("a result is said to be safe on a full disk")
		}
		full.Store(false)
		time.Sleep(2 * time.Second) // of the bubble: the way back is tried once a second
		must(t, j.accept(7, 1000, runBody(7), false).wait())
		j.close()
	})
	j := openTestJournal(t, dir)
	defer j.file.Close()
	wantStates(t, j, map[int64]string{1: "finished 200", 7: "waiting"})
}

// TestAJournalIsMendedWithoutAnotherRun: the result that found no room may be the last record for long, and after a restart its run must not be
// taken for one that was cut off.
func TestAJournalIsMendedWithoutAnotherRun(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]time.Duration{"at the end": 0, "after a while": 2 * time.Second} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			j := openTestJournal(t, dir)
			var full atomic.Bool
			j.writeAt = func(f *os.File, p []byte, offset int64) (int, error) {
				if full.Load() {
					return 0, syscall.ENOSPC
				}
				return f.WriteAt(p, offset)
			}
			go j.run()
			must(t, j.accept(1, 1000, runBody(1), true).wait())
			full.Store(true)
			if err := j.finished(&wire.Callback{LogID: 1, HandleCode: 200}).wait(); err == nil {
				t.Error("a result is said to be safe on a full disk")
			}
			full.Store(false)
			time.Sleep(wait)
			if wait > 0 { // as if the process ended now
				synctest.Wait()
				if j.broken {
					t.Error("the file still lacks records")
				}
			}
			j.close()
		})
		j := openTestJournal(t, dir)
		if got := j.states()[1]; got != "finished 200" {
			t.Errorf("%s: the run is %s", name, got)
		}
		_ = j.file.Close()
	}
}

// TestRunsThatComeTogetherAreWrittenTogether: nobody is told that one is on record before all are queued.
func TestRunsThatComeTogetherAreWrittenTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		j := openTestJournal(t, dir)
		writes := 0
		j.writeAt = func(f *os.File, p []byte, offset int64) (int, error) {
			writes++
			return f.WriteAt(p, offset)
		}
		go j.run()
		var last *commit
		for id := range int64(100) {
			last = j.accept(id, 1000, runBody(id), true)
			synctest.Wait()
		}
		must(t, last.wait())
		if writes != 1 {
			t.Errorf("they are written in %d pieces", writes)
		}
		j.finished(&wire.Callback{LogID: 1, HandleCode: 200}) // and a result at once, whoever waits for it
		synctest.Wait()
		if writes != 2 {
			t.Errorf("a result is not written: %d writes", writes)
		}
		j.close()
	})
}

// TestTheJournalMakesRoomWhileNobodyWaits: the file grows between batches, and not when one is to be brought to the disk.
func TestTheJournalMakesRoomWhileNobodyWaits(t *testing.T) {
	t.Parallel()
	j, err := openJournal(t.TempDir(), true, slog.New(slog.DiscardHandler))
	must(t, err)
	defer func() { must(t, j.file.Close()) }()
	grown := 0
	j.writeAt = func(f *os.File, p []byte, offset int64) (int, error) {
		if offset+int64(len(p)) > j.room {
			grown++
		}
		return f.WriteAt(p, offset)
	}
	for i := range int64(3 * roomAhead / roomStep) {
		j.accept(i, 1000, make([]byte, roomStep), true)
		j.flush()
		if i == 0 {
			grown = 0 // there was none
		}
		if grown > 0 {
			t.Fatalf("batch %d has the file grow", i)
		}
		j.kick <- struct{}{}
		if j.makeRoom(); grown > 0 {
			t.Fatalf("the file grows while somebody waits")
		}
		<-j.kick
		j.makeRoom()
		if grown == 0 && i > 0 || j.room < j.size+roomAhead {
			t.Fatalf("%d bytes of room after batch %d, made in %d steps", j.room-j.size, i, grown)
		}
		grown = 0
	}
}

// TestARunThatWasRefusedDoesNotComeBack: it came when the journal was being written anew, as a full disk had room again, and had none any more when
// its turn came. Whoever was refused sends it elsewhere.
func TestARunThatWasRefusedDoesNotComeBack(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(*testing.T, *journal) *commit{
		"with another one": func(t *testing.T, j *journal) *commit {
			first := j.accept(1, 1000, runBody(1), false)
			b := j.take()
			second := j.accept(2, 1000, runBody(2), false) // before the snapshot is taken
			j.settle(b, j.store(b))
			must(t, first.wait())
			return second
		},
		"as it is mended": func(_ *testing.T, j *journal) *commit {
			second := j.accept(2, 1000, runBody(2), false)
			j.mend()
			return second
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			j := openTestJournal(t, dir)
			j.broken = true // what comes goes into a new file
			second := write(t, j)
			j.writeAt = func(*os.File, []byte, int64) (int, error) { return 0, syscall.ENOSPC }
			j.flush()
			want := j.states()
			if _, known := want[2]; known != (second.wait() == nil) {
				t.Errorf("it is known: %v, and was refused with %v", known, second.err)
			}
			wantStates(t, j, want)
			must(t, j.file.Close()) // and the executor is started anew
			again := openTestJournal(t, dir)
			defer again.file.Close()
			wantStates(t, again, want)
		})
	}
}

// TestAResultOutlivesTheRefusalOfItsRun: both were in one batch that could not be written, and the result is in the next snapshot.
func TestAResultOutlivesTheRefusalOfItsRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := openTestJournal(t, dir)
	write := j.writeAt
	j.writeAt = func(*os.File, []byte, int64) (int, error) { return 0, syscall.ENOSPC }
	j.accept(1, 1000, runBody(1), true)
	j.accept(2, 1000, runBody(2), true)
	both := j.finished(&wire.Callback{LogID: 1, HandleCode: 200})
	j.flush()
	if both.wait() == nil {
		t.Error("they are said to be safe")
	}
	wantStates(t, j, map[int64]string{1: "finished 200"})
	j.writeAt, j.failedAt = write, time.Time{}
	must(t, func() error { c := j.accept(3, 1000, runBody(3), false); j.flush(); return c.wait() }())
	must(t, j.file.Close())
	again := openTestJournal(t, dir)
	defer again.file.Close()
	wantStates(t, again, map[int64]string{1: "finished 200", 3: "waiting"})
}

// TestWhatLiesBehindADamagedRecordStaysForgotten, also when what is written over the damaged one is as long.
func TestWhatLiesBehindADamagedRecordStaysForgotten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := openTestJournal(t, dir)
	c := j.accept(1, 1000, runBody(1), false)
	j.flush()
	must(t, c.wait())
	must(t, j.file.Close())
	damaged := appendRecord(nil, recordStarted, appendID(nil, 1))
	damaged[recordHeader+1]++
	appendTo(t, dir, appendRecord(damaged, recordAcked, appendID(nil, 1)))
	j = openTestJournal(t, dir)
	wantStates(t, j, map[int64]string{1: "waiting"})
	c = j.started(1)
	j.flush()
	must(t, c.wait())
	must(t, j.file.Close())
	again := openTestJournal(t, dir)
	defer again.file.Close()
	wantStates(t, again, map[int64]string{1: "started"})
}

func TestJournalRotates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := openTestJournal(t, dir)
	go j.run()
	for id := range int64(3) {
		must(t, j.accept(id+1, 1000, runBody(id+1), false).wait())
	}
	must(t, j.started(2).wait())
	must(t, j.finished(&wire.Callback{LogID: 3, HandleCode: 200}).wait())
	body := make([]byte, 4<<20)
	copy(body, `{"logDateTime":1}`)
	for i := range int64(40) { // 160 MB in all
		must(t, j.accept(i+10, 1000, body, true).wait())
		cb := &wire.Callback{LogID: i + 10, HandleCode: 200}
		_ = j.finished(cb)
		j.acknowledged([]*wire.Callback{cb})
	}
	j.close()
	names, err := journalFiles(dir)
	if err != nil || len(names) != 1 || names[0] == journalName(1) {
		t.Errorf("files %v, %v: want one, not the first", names, err)
	}
	if info, err := os.Stat(filepath.Join(dir, names[0])); err != nil || info.Size() > rotateAfter+8<<20 {
		t.Errorf("file of %d bytes, %v", info.Size(), err)
	}
	again := openTestJournal(t, dir)
	defer again.file.Close()
	wantStates(t, again, map[int64]string{1: "waiting", 2: "started", 3: "finished 200"}) // a run that had begun must not begin again
}

// TestAJournalGoesOnWhereNoNewFileCanBeBegun: the file that is there has room for what is small, on a disk that has none for another one. Killed
// then, the executor neither takes what is done for what was cut off, nor begins again what had begun.
func TestAJournalGoesOnWhereNoNewFileCanBeBegun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := openTestJournal(t, dir)
	store := func(commits ...*commit) {
		t.Helper()
		j.flush()
		for _, c := range commits {
			must(t, c.wait())
		}
	}
	store(j.accept(1, 1000, runBody(1), true), j.accept(2, 1000, runBody(2), false), j.accept(3, 1000, runBody(3), true))
	var tries int
	j.writeAt = func(f *os.File, p []byte, offset int64) (int, error) {
		if f != j.file {
			tries++
			return 0, syscall.ENOSPC
		}
		return f.WriteAt(p, offset)
	}
	j.snapshot = -rotateAfter // it is time for a new file
	finished := j.finished(&wire.Callback{LogID: 1, HandleCode: 200})
	b := j.take()
	begun := j.started(2) // before the snapshot is taken
	j.settle(b, j.store(b))
	must(t, finished.wait())
	must(t, begun.wait())
	store(j.finished(&wire.Callback{LogID: 3, HandleCode: 500}))
	if tries != 1 {
		t.Errorf("a new file was tried %d times within a moment", tries)
	}
	must(t, j.file.Close()) // and the executor is started anew
	again := openTestJournal(t, dir)
	defer again.file.Close()
	wantStates(t, again, map[int64]string{1: "finished 200", 2: "started", 3: "finished 500"})
}

// TestAClosedJournalHasAllThatWasAppended, also what nobody has waited for.
func TestAClosedJournalHasAllThatWasAppended(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := openTestJournal(t, dir)
	accepted := j.accept(1, 1000, runBody(1), true)
	j.finished(&wire.Callback{LogID: 1, HandleCode: 200})
	<-j.kick // or it might be written before it is closed
	go j.run()
	j.close()
	again := openTestJournal(t, dir)
	defer again.file.Close()
	wantStates(t, again, map[int64]string{1: "finished 200"})
	must(t, accepted.wait())
	if err := j.started(1).wait(); err == nil {
		t.Error("a closed journal takes records")
	}
}

// TestABigJournalIsMadeSmallAtTheStart, so that the next start is quick, and a small one is left as it is.
func TestABigJournalIsMadeSmallAtTheStart(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]int{1 << 20: 1, compactAtStart + 1<<20: 2} {
		dir := t.TempDir()
		j := openTestJournal(t, dir)
		go j.run()
		must(t, j.accept(1, 1000, runBody(1), false).wait())
		body := append(runBody(2), make([]byte, size)...)
		must(t, j.accept(2, 1000, body, true).wait())
		cb := &wire.Callback{LogID: 2, HandleCode: 200}
		must(t, j.finished(cb).wait())
		j.acknowledged([]*wire.Callback{cb})
		j.close()
		again := openTestJournal(t, dir)
		wantStates(t, again, map[int64]string{1: "waiting"})
		must(t, again.file.Close())
		if names, err := journalFiles(dir); err != nil || len(names) != 1 || names[0] != journalName(want) {
			t.Errorf("after %d bytes the files are %v, %v; want number %d", size, names, err, want)
		}
	}
}

func FuzzJournal(f *testing.F) {
	dir := f.TempDir()
	j := openTestJournal(f, dir)
	go j.run()
	_ = j.accept(1, 1000, runBody(1), true).wait()
	_ = j.finished(&wire.Callback{LogID: 1, HandleCode: 200}).wait()
	j.close()
	names, _ := journalFiles(dir)
	content, err := os.ReadFile(filepath.Join(dir, names[0]))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content[len(journalMagic):])
	f.Fuzz(func(t *testing.T, records []byte) {
		j := &journal{live: make(map[int64]*journalEntry), seen: newSeen(4)}
		size, err := readRecords(bytes.NewReader(slices.Concat([]byte(journalMagic), records)), j.replay)
		if size < int64(len(journalMagic)) || size > int64(len(journalMagic)+len(records)) {
			t.Errorf("%d good bytes of %d, %v", size, len(records), err)
		}
	})
}

// TestHowFarTheMemoryReaches: as long as executors ran with the folder, whatever the clock of their machine was then and is now.
func TestHowFarTheMemoryReaches(t *testing.T) {
	t.Parallel()
	reach := func(dir string, sync bool) time.Duration {
		t.Helper()
		j, err := openJournal(dir, sync, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		must(t, j.file.Close())
		return j.seen.reach()
	}
	begin := func() (dir string) {
		t.Helper()
		dir = t.TempDir()
		if got := reach(dir, true); got >= time.Hour {
			t.Errorf("a new folder is remembered for %v", got)
		}
		writeReach(dir, time.Hour)
		return dir
	}
	dir := begin()
	if first, second := reach(dir, true), reach(dir, true); first < time.Hour || second < time.Hour {
		t.Errorf("after a restart: %v, %v", first, second)
	}
	if got := reach(dir, false); got >= time.Hour {
		t.Errorf("without syncs a crash of the machine is not known, and it reaches back %v", got)
	}
	names, err := journalFiles(dir)
	must(t, err)
	for _, name := range names {
		must(t, os.Remove(filepath.Join(dir, name)))
	}
	if got := reach(dir, true); got >= time.Hour {
		t.Errorf("with the journal gone it reaches back %v", got)
	}
	dir = begin()
	for _, unreadable := range []string{"", "long ago", "-5", strconv.FormatInt(math.MaxInt64, 10), strconv.FormatInt(time.Now().UnixNano(), 10)} {
		must(t, os.WriteFile(filepath.Join(dir, reachName), []byte(unreadable), 0o600))
		if got := reach(dir, true); got < 0 || got >= time.Hour {
			t.Errorf("%q counts as %v", unreadable, got)
		}
	}
	must(t, os.Remove(filepath.Join(dir, reachName))) // a folder of an older version
	if got := reach(dir, true); got >= time.Hour {
		t.Errorf("a folder without a note reaches back %v", got)
	}
}

// TestTheMemoryReachesOverAKill: what was noted before it counts, and no more.
func TestTheMemoryReachesOverAKill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		open := func() *journal {
			t.Helper()
			j, err := openJournal(dir, true, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			go j.run()
			return j
		}
		killed := open()
		time.Sleep(10*time.Minute + noteEvery/2)
		next := open()
		if got := next.seen.reach(); got != 10*time.Minute {
			t.Errorf("after a kill it reaches back %v", got)
		}
		killed.close() // which writes once more what it knew
		time.Sleep(time.Minute)
		next.close()
		last := open()
		defer last.close()
		if got := last.seen.reach(); got != 11*time.Minute {
			t.Errorf("after a stop it reaches back %v", got)
		}
	})
}

// TestNoMoreIsPromisedThanTheJournalKnows: what its files may lack was asked of this executor, or of the folder from which they were copied.
func TestNoMoreIsPromisedThanTheJournalKnows(t *testing.T) {
	t.Parallel()
	reopen := func(t *testing.T, dir string, sync bool) time.Duration {
		t.Helper()
		j, err := openJournal(dir, sync, slog.New(slog.DiscardHandler))
		must(t, err)
		must(t, j.file.Close())
		return j.seen.reach()
	}
	damage := func(t *testing.T, dir string) {
		t.Helper()
		names, err := journalFiles(dir)
		must(t, err)
		file := filepath.Join(dir, names[len(names)-1])
		content, err := os.ReadFile(file)
		must(t, err)
		content[len(journalMagic)+recordHeader+20] ^= 1 // in the first of two records
		must(t, os.WriteFile(file, content, 0o600))
	}
	copied := func(t *testing.T, dir string, times bool) string {
		t.Helper()
		to := t.TempDir()
		must(t, os.CopyFS(to, os.DirFS(dir)))
		if !times {
			return to
		}
		file := filepath.Join(to, reachName)
		text, err := os.ReadFile(file)
		must(t, err)
		var ms, at int64
		_, err = fmt.Sscanf(string(text), "%d %d", &ms, &at)
		must(t, err)
		written := time.Unix(0, at).Add(-time.Hour) // the backup is older than this test
		must(t, os.WriteFile(file, fmt.Appendf(nil, "%d %d\n", ms, written.UnixNano()), 0o600))
		must(t, os.Chtimes(file, written, written))
		return to
	}
	for name, c := range map[string]struct {
		after func(t *testing.T, dir string) string // what becomes of the folder
		known bool
	}{
		"nothing happened":              {func(_ *testing.T, dir string) string { return dir }, true},
		"the folder has another name":   {func(t *testing.T, dir string) string { must(t, os.Rename(dir, dir+"-moved")); return dir + "-moved" }, true},
		"it ran without syncs":          {func(t *testing.T, dir string) string { reopen(t, dir, false); return dir }, false},
		"a record is damaged":           {func(t *testing.T, dir string) string { damage(t, dir); return dir }, false},
		"a kill after that was seen":    {func(t *testing.T, dir string) string { damage(t, dir); reopen(t, dir, true); return dir }, false},
		"the folder is a copy":          {func(t *testing.T, dir string) string { return copied(t, dir, false) }, false},
		"the folder is a faithful copy": {func(t *testing.T, dir string) string { return copied(t, dir, true) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "journal")
			j, err := openJournal(dir, true, slog.New(slog.DiscardHandler))
			must(t, err)
			go j.run()
			must(t, j.accept(1, 1000, runBody(1), true).wait())
			must(t, j.accept(2, 1000, runBody(2), true).wait())
			j.close()
			writeReach(dir, time.Hour)
			if got := reopen(t, c.after(t, dir), true); got >= time.Hour != c.known {
				t.Errorf("it reaches back %v", got)
			}
		})
	}
}
