package client

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAFolderIsWrittenWholeOrNotAtAll: of an export that ends early, as by a full disk, nothing is in the folder, where apply would take a part of
// the jobs for all of them, and with --prune delete the others. What an earlier day wrote stays. A file that is to go and cannot is named, since apply
// would find its jobs twice.
func TestAFolderIsWrittenWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	groups := []ExportedGroup{{ID: 1, AppName: "orders"}, {ID: 2, AppName: "empty"}, {ID: 3, AppName: "stock"}}
	gone := errors.New("the admin is gone")
	for name, tt := range map[string]struct {
		folders string // that are in the way
		last    error  // of the last page
		err     string
		want    string
	}{
		"whole":                     {"", nil, "", "orders+2.yaml:new b orders.yaml:new a stock.yaml:new a"},
		"an admin that goes":        {"", gone, "group stock: the admin is gone", "orders+2.yaml:old orders+3.yaml:old orders.yaml:old"},
		"a disk that takes no more": {"stock.yaml.unfinished/x", nil, "stock.yaml.unfinished", "orders+2.yaml:old orders+3.yaml:old orders.yaml:old stock.yaml.unfinished:"},
		"a file that stays":         {"stock+2.yaml/x", nil, "stock+2.yaml: directory not empty; take it away", "orders+2.yaml:new b orders.yaml:new a stock+2.yaml: stock.yaml:new a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, old := range []string{"orders.yaml", "orders+2.yaml", "orders+3.yaml"} {
				if err := os.WriteFile(filepath.Join(dir, old), []byte("old"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if tt.folders != "" {
				if err := os.MkdirAll(filepath.Join(dir, tt.folders), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			var out bytes.Buffer
			err := IntoDir(Streams{Out: &out, Err: &out}, dir, "yaml", groups, func(group int64, cursor string) (ExportedJobs, error) {
				switch {
				case group == 0:
					return ExportedJobs{Orphans: 1}, nil
				case group == 2:
					return ExportedJobs{}, ErrNoJobs
				case group == 3:
					return ExportedJobs{Text: "new a", Jobs: 1}, tt.last
				case cursor == "":
					return ExportedJobs{Text: "new a", Jobs: 2000, Next: "7"}, nil
				}
				return ExportedJobs{Text: "new b", Jobs: 1}, nil
			})
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%v, want %q", err, tt.err)
			}
			if said := out.String(); (said == "1 job is left out, since its group of executors does not exist\n2002 jobs in 3 files\n") != (err == nil) {
				t.Errorf("says %q", said)
			}
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range entries {
				text, _ := os.ReadFile(filepath.Join(dir, e.Name())) // none of a folder
				got = append(got, e.Name()+":"+string(text))
			}
			if got := strings.Join(got, " "); got != tt.want {
				t.Errorf("in the folder\n%s, want\n%s", got, tt.want)
			}
		})
	}
}
