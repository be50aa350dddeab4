package gallery

import (
	"time"

	"github.com/punctual-job/punctual/views/glue"
	"github.com/punctual-job/punctual/views/ui"
)

// galleryNonce is what lets the editor's style sheets through the gallery's policy.
const galleryNonce = "gallery"

const cleanUp = "#!/bin/bash\nset -euo pipefail\n\n# $1 is the parameter: how many days to keep\nfind /var/tmp/sessions -mtime +\"$1\" -delete\ndf -h /var/tmp\n"

func (f fakes) glue() glue.EditPage {
	p := glue.EditPage{
		Page: f.page("/jobs/15/glue"), JobID: 15, Name: f.zh("清理过期会话", "Remove expired sessions"),
		Type: "GLUE_SHELL", Source: cleanUp, Version: "1", Nonce: galleryNonce,
		Trial: &glue.Trial{Param: "7", Addresses: []ui.Option{{Value: "http://10.0.3.17:9999/", Label: "http://10.0.3.17:9999/"}, {Value: "http://10.0.3.18:9999/", Label: "http://10.0.3.18:9999/"}}},
	}
	for i, remark := range []string{f.zh("清理后检查磁盘", "Check the disk afterwards"), f.zh("保留天数改为参数", "Take the days from the parameter"), f.zh("首次提交", "First version")} {
		p.Versions = append(p.Versions, glue.Version{ID: int64(5 - i), Remark: remark, At: f.at(-time.Duration(i*i+1) * 26 * time.Hour), Current: i == 0})
	}
	return p
}

func (f fakes) glueLines() []glue.Line {
	return []glue.Line{
		{Kind: glue.LineGap, Skipped: 2},
		{Kind: glue.LineSame, LeftNumber: 3, RightNumber: 3},
		{Kind: glue.LineChanged, LeftNumber: 4, RightNumber: 4, Left: "find /var/tmp/sessions -mtime +7 -delete", Right: "# $1 is the parameter: how many days to keep"},
		{Kind: glue.LineAdded, RightNumber: 5, Right: `find /var/tmp/sessions -mtime +"$1" -delete`},
		{Kind: glue.LineRemoved, LeftNumber: 5, Left: "echo <done>"},
		{Kind: glue.LineSame, LeftNumber: 6, RightNumber: 6, Left: "df -h /var/tmp", Right: "df -h /var/tmp"},
	}
}

// glueReviewed is the editor where a second person looks first.
func (f fakes) glueReviewed() glue.EditPage {
	p := f.glue()
	p.Trial, p.Reviewed, p.Waiting = nil, true, true
	return p
}

func (f fakes) glueConflict() glue.EditPage {
	p := f.glue()
	p.Problem, p.Remark, p.Theirs = f.zh("内容已被他人修改。", "Somebody changed it meanwhile."), "x", f.glueLines()
	p.Problem = f.T("glue.merge.problem", "Taken", 1, "Both", 2)
	p.Merge = &glue.Merge{Base: "0", Conflicts: []glue.Conflict{
		{Mark: "a", Line: 4, Base: "find /var/tmp/sessions -mtime +7 -delete", Theirs: "find /var/tmp/sessions -mtime +14 -delete\necho <done>", Mine: "# $1 is the parameter: how many days to keep\nfind /var/tmp/sessions -mtime +\"$1\" -delete"},
		{Mark: "b", Line: 6, Base: "df -h", Theirs: "", Mine: "df -h /var/tmp"},
	}}
	p.Errors = map[string]string{glue.FieldRemark: f.zh("请填写 4 到 100 个字符的版本备注。", "Write 4 to 100 characters about what changed.")}
	return p
}

func (f fakes) glueCompare() glue.ComparePage {
	p := f.glue()
	return glue.ComparePage{
		Page: f.page("/jobs/15/glue/versions/3"), JobID: 15, Name: p.Name, Type: p.Type, Version: p.Versions[2], New: cleanUp,
		Old: "#!/bin/bash\nset -euo pipefail\n\nfind /var/tmp/sessions -mtime +7 -delete\necho <done>\ndf -h /var/tmp\n", Lines: f.glueLines(), Nonce: galleryNonce,
	}
}
