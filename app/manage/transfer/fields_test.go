package transfer

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage/jobfile"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// fixtures are a job that uses every field, and one as XXL-JOB leaves it.
func fixtures() []db.Job {
	at := sql.NullTime{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Valid: true}
	return []db.Job{
		{
			ID: 7, JobGroup: 3, JobDesc: "收盘 | \"quoted\"", AddTime: at, UpdateTime: at, Author: "安", AlarmEmail: "a@b.cn,c@d.cn",
			ScheduleType: jobspec.ScheduleFixRate, ScheduleConf: "30", MisfireStrategy: jobspec.MisfireFireOnceNow,
			ExecutorRouteStrategy: jobspec.RouteFailover, ExecutorHandler: "h", ExecutorParam: "a\n b", ExecutorBlockStrategy: db.Text(wire.BlockCoverEarly),
			ExecutorTimeout: 60, ExecutorFailRetryCount: 3, GlueType: wire.GlueShell, GlueSource: "#!/bin/bash\n\techo 'x: y'\n", GlueRemark: "first try",
			GlueUpdateTime: at, ChildJobIDs: "8,9", TriggerStatus: 1, TriggerLastTime: 1, TriggerNextTime: 2, TimeZone: "America/New_York",
			StartAt: 1767225600001, EndAt: 1798761600000, RetryBackoff: "10s,1m", MaxConcurrent: 2, ConcurrencyPolicy: "DISCARD", RetentionDays: 9,
			WarnAfterSeconds: 10, ExpectEverySeconds: 3600, Tags: "night,eu", Revision: 5, ClaimedUntil: 6, ParamFixed: 1,
		},
		{
			ID: 8, JobGroup: 3, JobDesc: "plain", Author: "xxl", ScheduleType: jobspec.ScheduleCron, ScheduleConf: "0 0 2 * * ?",
			MisfireStrategy: jobspec.MisfireDoNothing, ExecutorRouteStrategy: jobspec.RouteFirst, ExecutorHandler: "closeDay",
			ExecutorBlockStrategy: db.Text(wire.BlockSerial), GlueType: wire.GlueBean, Revision: 1,
		},
	}
}

// A file says of a job what it said before.
func TestWhatIsMadeOfAJobStaysAsItIs(t *testing.T) {
	t.Parallel()
	s := New(Config{Zone: time.UTC})
	p := auth.NewPrincipal(1, "root", auth.RoleAdmin, "")
	got := ""
	for _, j := range fixtures() {
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
