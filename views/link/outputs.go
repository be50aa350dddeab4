package link

import "net/url"

// SearchPath is the search in the outputs that are kept of runs.
const SearchPath = RunsPath + "/search"

// OutputSearch is what is looked for in kept outputs, and how far that has come. Of the filter only the group, the job, the text and the
// time count, and Before.
type OutputSearch struct {
	RunFilter
	Hits, Looked, Bytes int64 // found and looked through before, by Round requests
	Round               int64
	Stop                bool // somebody has seen enough
}

// OutputSearchFrom reads what [SearchOutput] writes. A value it cannot read counts as absent.
func OutputSearchFrom(q url.Values) OutputSearch {
	f := RunsFrom(q)
	return OutputSearch{
		RunFilter: RunFilter{Group: f.Group, Job: f.Job, Text: f.Text, Range: f.Range, From: f.From, To: f.To, Before: f.Before},
		Hits:      Number(q, "hits"), Looked: Number(q, "looked"), Bytes: Number(q, "bytes"), Round: Number(q, "round"), Stop: Number(q, "stop") == 1,
	}
}

// SearchOutput is a search, from its beginning or from where it stands.
func SearchOutput(s OutputSearch) string {
	q := s.query()
	setNumber(q, "hits", s.Hits)
	setNumber(q, "looked", s.Looked)
	setNumber(q, "bytes", s.Bytes)
	setNumber(q, "round", s.Round)
	if s.Stop {
		setNumber(q, "stop", 1)
	}
	return withQuery(SearchPath, q)
}
