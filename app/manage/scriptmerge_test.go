package manage

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestScriptsAreMergedByLine(t *testing.T) {
	t.Parallel()
	const base = "one\ntwo\nthree\nfour\nfive\nsix\nseven"
	type conflict struct {
		line               int
		base, mine, theirs string
	}
	for _, tt := range []struct {
		name, mine, theirs, want string
		taken, kept              int
		conflicts                []conflict
	}{
		{"each changed a line", "one\nTWO\nthree\nfour\nfive\nsix\nseven", "one\ntwo\nthree\nfour\nfive\nSIX\nseven", "one\nTWO\nthree\nfour\nfive\nSIX\nseven", 1, 1, nil},
		{"one removed and one added lines", "three\nfour\nfive\nsix\nseven", base + "\neight\nnine", "three\nfour\nfive\nsix\nseven\neight\nnine", 1, 1, nil},
		{"both did the same", "one\n2\nthree\nfour\nfive\nsix\nseven", "one\n2\nthree\nfour\nfive\nsix\nseven\n", "one\n2\nthree\nfour\nfive\nsix\nseven\n", 2, 0, nil},
		{"both changed a line", "one\ntwo\nthree\nmy four\nfive\nsix\nseven", "one\ntwo\n3\nfour by them\nfive\nsix\nSEVEN", "one\ntwo\nthree\nmy four\nfive\nsix\nSEVEN", 1, 0,
			[]conflict{{3, "three\nfour", "three\nmy four", "3\nfour by them"}}},
		{"one changed what the other removed", "one\ntwo\nthree\nsix\nseven", "one\ntwo\nthree\nfour\nFIVE\nsix\nseven", "one\ntwo\nthree\nsix\nseven", 0, 0,
			[]conflict{{4, "four\nfive", "", "four\nFIVE"}}},
		{"both added at one place", "one\ntwo\nmine\nthree\nfour\nfive\nsix\nseven", "one\ntwo\ntheirs\nthree\nfour\nfive\nsix\nseven", "one\ntwo\nmine\nthree\nfour\nfive\nsix\nseven", 0, 0,
			[]conflict{{3, "", "mine", "theirs"}}},
		{"lines beside each other", "one\nTWO\nthree\nfour\nfive\nsix\nseven", "one\ntwo\nTHREE\nfour\nfive\nsix\nseven", "one\nTWO\nthree\nfour\nfive\nsix\nseven", 0, 0,
			[]conflict{{2, "two\nthree", "TWO\nthree", "two\nTHREE"}}},
		{"one did the same, and more", "one\n2\nthree\nfour\nfive\nsix\nSEVEN\nmy eight", "one\n2\n2 and a half\nthree\nfour\nfive\nsix\nSEVEN", "one\n2\n2 and a half\nthree\nfour\nfive\nsix\nSEVEN\nmy eight", 1, 1, nil},
		{"one removed what the other did not, beside what both did", "one\n2\nfour\nfive\nsix\nseven", "one\n2\n3\nfour\nfive\nsix\nseven", "one\n2\nfour\nfive\nsix\nseven", 0, 0,
			[]conflict{{2, "two\nthree", "2", "2\n3"}}},
		{"another system's line ends", "one\r\nTWO\r\nthree\r\nfour\r\nfive\r\nsix\r\nseven", base, "one\nTWO\nthree\nfour\nfive\nsix\nseven", 0, 1, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := MergeScripts(base, tt.mine, tt.theirs)
			var conflicts []conflict
			for _, c := range got.Conflicts {
				conflicts = append(conflicts, conflict{c.Line, strings.Join(c.Base, "\n"), strings.Join(c.Mine, "\n"), strings.Join(c.Theirs, "\n")})
			}
			if got.Text != tt.want || got.Theirs != tt.taken || got.Mine != tt.kept || !cmp.Equal(conflicts, tt.conflicts, cmp.AllowUnexported(conflict{})) {
				t.Errorf("%q, %d taken, %d kept, %v", got.Text, got.Theirs, got.Mine, conflicts)
			}
			// Whoever takes all of theirs where both changed something has lost only what was typed there.
			var marks []string
			for _, c := range got.Conflicts {
				marks = append(marks, c.Mark)
			}
			if taken := MergeScripts(base, tt.mine, tt.theirs, marks...); len(taken.Conflicts) != 0 || taken.Theirs != tt.taken+len(marks) {
				t.Errorf("taken: %+v", taken)
			}
		})
	}
}

// TestMergingScriptsLosesNothing: whatever the three texts are.
func TestMergingScriptsLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "", "  e"}), 0, 12).Draw(t, name), "\n")
		}
		edit := func(base, name string) string { // most of it stays
			lines := strings.Split(base, "\n")
			for range rapid.IntRange(0, 3).Draw(t, name+" edits") {
				i := rapid.IntRange(0, len(lines)).Draw(t, name+" at")
				n := rapid.IntRange(0, min(3, len(lines)-i)).Draw(t, name+" removed")
				lines = slices.Replace(slices.Clone(lines), i, i+n, rapid.SliceOfN(rapid.SampledFrom([]string{name + "1", name + "2", "same"}), 0, 3).Draw(t, name+" added")...)
			}
			return strings.Join(lines, "\n")
		}
		base := text("base")
		mine, theirs := edit(base, "m"), edit(base, "t")
		m, back := MergeScripts(base, mine, theirs), MergeScripts(base, theirs, mine)
		if len(m.Conflicts) != len(back.Conflicts) || len(m.Conflicts) == 0 && m.Text != back.Text {
			t.Fatalf("who comes first matters: %+v and %+v", m, back)
		}
		if same := MergeScripts(base, mine, base); same.Text != mine || same.Conflicts != nil {
			t.Fatalf("nobody else changed anything: %+v", same)
		}
		if same := MergeScripts(base, base, theirs); same.Text != theirs || same.Conflicts != nil {
			t.Fatalf("nothing was typed: %+v", same)
		}
		has := strings.Split(m.Text, "\n")
		for line := range strings.SplitSeq(mine, "\n") {
			if strings.HasPrefix(line, "m") && count(has, line) < count(strings.Split(mine, "\n"), line) {
				t.Fatalf("%q was typed and is not in %q", line, m.Text)
			}
		}
		var shown []string
		marks := make([]string, len(m.Conflicts))
		for i, c := range m.Conflicts {
			shown = append(shown, c.Theirs...)
			marks[i] = c.Mark
			if i > 0 && slices.Contains(marks[:i], c.Mark) {
				t.Fatal("two places have one mark")
			}
			if end := c.Line - 1 + len(c.Mine); end > len(has) || !slices.Equal(has[c.Line-1:end], c.Mine) {
				t.Fatalf("conflict %+v is not there in %q", c, m.Text)
			}
		}
		for line := range strings.SplitSeq(theirs, "\n") {
			if strings.HasPrefix(line, "t") && count(has, line)+count(shown, line) < count(strings.Split(theirs, "\n"), line) {
				t.Fatalf("%q was stored, is not in %q and not shown", line, m.Text)
			}
		}
		if taken := MergeScripts(base, mine, theirs, marks...); len(taken.Conflicts) != 0 {
			t.Fatalf("taken: %+v", taken)
		}
	})
}

func count(lines []string, line string) (n int) {
	for _, l := range lines {
		if l == line {
			n++
		}
	}
	return n
}
