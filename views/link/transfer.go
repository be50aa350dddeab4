package link

import "net/url"

// Where jobs are exported and imported. JobsImportPath shows the form (GET), and previews or imports (POST); JobsCrontabPath makes a
// file of a crontab, for the import.
const (
	JobsExportPath     = JobsPath + "/export"
	JobsExportFilePath = JobsPath + "/export/file"
	JobsImportPath     = JobsPath + "/import"
	JobsCrontabPath    = JobsPath + "/import/crontab"
)

// Values are the filter as a form sends it, without a page and an order.
func (f JobFilter) Values() url.Values {
	f.Page, f.Sort = 0, ""
	return values(f)
}
