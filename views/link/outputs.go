package link

import "net/url"

// SearchPath is the search in the outputs that are kept of runs.
const SearchPath = RunsPath + "/search"

// OutputSearch is what is looked for in kept outputs, and how far that has come. Of the filter only the group, the job, the text and the
// time count, and Before.
type OutputSearch struct {
	RunFilter
	Hits   int64 `q:"hits"` // found and looked through before, by Round requests
	Looked int64 `q:"looked"`
	Bytes  int64 `q:"bytes"`
	Round  int64 `q:"round"`
	Stop   bool  `q:"stop"` // somebody has seen enough
}

// OutputSearchFrom reads what [SearchOutput] writes. A value it cannot read counts as absent.
func OutputSearchFrom(q url.Values) OutputSearch {
	s, f := read[OutputSearch](q), RunsFrom(q)
	s.RunFilter = RunFilter{Group: f.Group, Job: f.Job, Text: f.Text, Range: f.Range, From: f.From, To: f.To, Before: f.Before}
	return s
}

// SearchOutput is a search, from its beginning or from where it stands.
func SearchOutput(s OutputSearch) string { return withQuery(SearchPath, values(s)) }
