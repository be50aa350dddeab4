package link

// PausesPath is the times in which schedules hold still (GET), and where a new one goes (POST).
const PausesPath = "/pauses"

// PauseJobsPath answers the search for a job to pause.
const PauseJobsPath = PausesPath + "/jobs"

// PauseJob is the form of a pause of a job.
func PauseJob(jobID int64) string { return PausesPath + "?scope=job&target=" + id(jobID) }

// PauseGroup is the form of a pause of an executor group.
func PauseGroup(groupID int64) string { return PausesPath + "?scope=group&target=" + id(groupID) }

// PauseAgain takes back that a pause was ended.
func PauseAgain(pauseID int64) string { return PausesPath + "/" + id(pauseID) + "/again" }

// PauseEnd ends a pause.
func PauseEnd(pauseID int64) string { return PausesPath + "/" + id(pauseID) + "/end" }
