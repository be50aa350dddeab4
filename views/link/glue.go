package link

// JobGlue is the editor of a job's script (GET), where it is saved as well (POST).
func JobGlue(jobID int64) string { return Job(jobID) + "/glue" }

// JobGlueTry runs a script once before it is saved (POST).
func JobGlueTry(jobID int64) string { return JobGlue(jobID) + "/try" }

// JobGlueWaiting is the change of a script that waits (GET), and the decision about it (POST).
func JobGlueWaiting(jobID int64) string { return JobGlue(jobID) + "/waiting" }

// JobGlueVersion is a kept version beside the text that runs.
func JobGlueVersion(jobID, versionID int64) string {
	return JobGlue(jobID) + "/versions/" + id(versionID)
}

// JobGlueRestore makes a kept version the newest one (POST).
func JobGlueRestore(jobID, versionID int64) string {
	return JobGlueVersion(jobID, versionID) + "/restore"
}
