package scheduler

import (
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/punctual-job/punctual/scheduler/jobspec"
)

func TestClip(t *testing.T) {
	t.Parallel()
	const mark = " … (cut)" // 10 bytes
	tests := []struct {
		name string
		text string
		n    int
		want string
	}{
		{"a short text stays", "short", 20, "short"},
		{"one of just the length stays", strings.Repeat("x", 20), 20, strings.Repeat("x", 20)},
		{"a longer one is cut and marked", strings.Repeat("x", 21), 20, strings.Repeat("x", 10) + mark},
		{"a character is not cut in half", strings.Repeat("时", 8), 20, "时时时" + mark},
		{"nor is one of four bytes", strings.Repeat("😀", 8), 21, "😀😀" + mark},
		{"bytes that are no text end somewhere", strings.Repeat("\x80", 40), 20, mark},
	}
	for _, tt := range tests {
		got := clip(tt.text, tt.n)
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
		if len(got) > tt.n {
			t.Errorf("%s: %d bytes, at most %d are allowed", tt.name, len(got), tt.n)
		}
	}
}

func TestParseShard(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want wireShard
	}{
		{"", wireShard{}},
		{"0/1", wireShard{0, 1}},
		{"2/3", wireShard{2, 3}},
		{"3/3", wireShard{}},
		{"-1/3", wireShard{}},
		{"1/0", wireShard{}},
		{"1", wireShard{}},
		{"a/b", wireShard{}},
		{"1/2/3", wireShard{}},
		{" 1/2", wireShard{}},
		{"0/1073741823", wireShard{0, 1073741823}},
		{"0/2147483648", wireShard{}},
		{"0/99999999999999999999", wireShard{}},
	}
	for _, tt := range tests {
		if got := parseShard(tt.text); got != tt.want {
			t.Errorf("parseShard(%q) = %v, want %v", tt.text, got, tt.want)
		}
	}
	for s, want := range map[wireShard]string{{0, 1}: "", {0, 2}: "0/2", {1, 2}: "1/2", {}: ""} {
		if got := s.text(jobspec.RouteFirst); got != want {
			t.Errorf("%v as text is %q, want %q", s, got, want)
		}
	}
	if got := (wireShard{0, 1}).text(jobspec.RouteShardingBroadcast); got != "0/1" {
		t.Errorf("the one shard of a broadcast is %q, want 0/1", got)
	}
}

func TestParseIDs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want []int64
	}{
		{"", nil},
		{"1", []int64{1}},
		{" 1, 2 ,,3", []int64{1, 2, 3}},
		{"2,1,2", []int64{2, 1}},
		{"x,-1,0,1.5,4294967296,7", []int64{7}},
		{"2147483647,2147483648", []int64{math.MaxInt32}},
	}
	for _, tt := range tests {
		if got := parseIDs(tt.text); !slices.Equal(got, tt.want) {
			t.Errorf("parseIDs(%q) = %v, want %v", tt.text, got, tt.want)
		}
	}
}

func TestSplitAddresses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want []string
	}{
		{"", nil},
		{" , ,", nil},
		{"http://b/, http://a/ ,http://b/", []string{"http://b/", "http://a/"}},
	}
	for _, tt := range tests {
		if got := SplitAddresses(tt.text); !slices.Equal(got, tt.want) {
			t.Errorf("SplitAddresses(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestJoinLines(t *testing.T) {
	t.Parallel()
	tests := []struct {
		parts []string
		want  string
	}{
		{nil, ""},
		{[]string{"", ""}, ""},
		{[]string{"", "one", "", "two", ""}, "one\ntwo"},
	}
	for _, tt := range tests {
		if got := joinLines(tt.parts...); got != tt.want {
			t.Errorf("joinLines(%q) = %q, want %q", tt.parts, got, tt.want)
		}
	}
	if got := joinLines(strings.Repeat("长", 30_000), "end"); len(got) > maxMessage || !utf8.ValidString(got) {
		t.Errorf("a long text is joined to %d bytes, valid: %t", len(got), utf8.ValidString(got))
	}
}

func FuzzParsers(f *testing.F) {
	for _, s := range []string{"", "1/2", "1,2", "9999999999/1", "\xff/\xff", "http://a/,http://b/", "😀😀😀😀😀😀😀😀"} {
		f.Add(s, 12)
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		if shard := parseShard(s); shard != (wireShard{}) && (shard.Index < 0 || shard.Index >= shard.Total) {
			t.Errorf("parseShard(%q) = %v", s, shard)
		}
		for _, id := range parseIDs(s) {
			if id <= 0 || id > 1<<31 {
				t.Errorf("parseIDs(%q) gives %d", s, id)
			}
		}
		list := SplitAddresses(s)
		if again := SplitAddresses(strings.Join(list, ",")); !slices.Equal(again, list) {
			t.Errorf("%q splits to %q and then to %q", s, list, again)
		}
		n = 10 + n&0xffff
		if got := clip(s, n); len(got) > n || utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Errorf("clip(%q, %d) = %q", s, n, got)
		}
	})
}
