package transfer

import (
	"fmt"
	"testing"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/manage/jobfile"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// BenchmarkExport writes as many jobs as a file can have.
func BenchmarkExport(b *testing.B) {
	for name, dialect := range map[string]db.Dialect{"sqlite": db.SQLite, "mariadb": db.MySQL} {
		b.Run(name, func(b *testing.B) {
			all := setup(b, dbtest.New(b, dialect))
			for i := range jobfile.MaxJobs {
				all.create(b, func(in *manage.JobInput) {
					in.Name, in.Param, in.Tags = fmt.Sprintf("对账 payments %d of Shanghai", i), fmt.Sprintf("batch=%d", i), "night,eu"
				})
			}
			for b.Loop() {
				out, err := all.files.Export(b.Context(), all.admin, manage.JobFilter{Status: manage.AnyStatus}, nil)
				if err != nil {
					b.Fatal(err)
				}
				raw, err := jobfile.Write(out.File, jobfile.YAML)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(raw)))
			}
		})
	}
}
