package transfer

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage/jobfile"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// A file says of a job what it said before.
func TestWhatIsMadeOfAJobStaysAsItIs(t *testing.T) {
	t.Parallel()
	s := New(Config{Zone: time.UTC})
	p := auth.NewPrincipal(1, "root", auth.RoleAdmin, "")
	got := ""
	for _, j := range dbtest.Jobs() {
		text, err := jobfile.Write(jobfile.File{Groups: []jobfile.Group{{AppName: "orders", Jobs: []jobfile.Job{
			s.fileJob(p, j, map[int64]string{3: "orders"}, map[int64]db.Job{8: {JobGroup: 3, JobDesc: "plain"}}),
		}}}}, jobfile.YAML)
		if err != nil {
			t.Fatal(err)
		}
		got += string(text)
	}
	path := filepath.Join("testdata", "jobs.yaml")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
