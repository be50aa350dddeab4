package db_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// seedTime is the day before the times of the seeded rows.
var seedTime = time.Date(2026, 3, 1, 12, 30, 45, 0, time.UTC)

const seedRows = 5

// seedValues are the columns where the rows of the seed are not simply numbered, by row.
var seedValues = map[string][seedRows]any{
	"xxl_job_info.trigger_status":           {1, 1, 0, 0, 2},
	"xxl_job_info.glue_type":                {"glue_t1", "FLOW", "glue_t3", "glue_t4", "glue_t5"},
	"xxl_job_info.when_lost":                {"AGAIN", "", "", "", ""},
	"xxl_job_log.executor_fail_retry_count": {0, 2, 3, 4, 5},
	"xxl_job_info.paused_next":              {0, 2, 3, 4, 5},
	"xxl_job_log.trigger_code":              {200, 0, 0, 500, 0},
	"xxl_job_log.handle_code":               {0, 200, 0, 500, 0},
	"xxl_job_log.outcome":                   {0, 1, 0, 7, 0},
	"xxl_job_log.owner_node":                {1, 2, 1, 4, -1},
	"xxl_job_log.job_id":                    {1, 2, 1, 1, 1},
	"xxl_job_log.job_group":                 {1, 2, 1, 1, 1},
	"xxl_job_registry.registry_group":       {"EXECUTOR", "EXECUTOR", "EXECUTOR", "OTHER", "EXECUTOR"},
	"xxl_job_group.address_type":            {0, 1, 0, 0, 0},
	"xxl_job_user.disabled":                 {0, 0, 1, 1, 0},
	"xxl_job_user.provider":                 {"", "company", "company", "office", "office"},
	"xxl_job_user.service":                  {0, 1, 1, 0, 1},
	"punctual_view.user_id":                 {1, 2, 3, 4, -5},
	"punctual_pull.taken_by":                {"", "pull1", "", "", ""},
	"punctual_backfill.ended_at":            {1, 0, 3, 4, 5},
	"punctual_backfill_run.state":           {1, 0, 1, 2, 3},
	"punctual_node.state":                   {1, 1, 0, 2, 1},
	"xxl_job_info.max_concurrent":           {5, 5, 5, 5, 5},
	"punctual_slot.running":                 {0, 1, 1, 1, 0},
	"punctual_slot.job_id":                  {1, 1, 1, 1, 1},
	"punctual_slot.group_id":                {1, 2, 3, 4, 1},
	"punctual_slot.planned_at":              {1, 2, 3, 4, 1},
	"punctual_clearing.state":               {0, 0, 1, 1, 1},
	"punctual_alarm_event.state":            {0, 1, 1, 0, 0},
	"punctual_alarm_notice.state":           {0, 1, 2, 0, 0},
	"punctual_alarm_delivery.state":         {0, 1, 2, 3, 0},
	"punctual_alarm_delivery.link_used_at":  {0, 2, 3, 4, 5},
	"punctual_alarm_delivery.acked":         {0, 0, 0, 0, 1},
	"punctual_alarm_escalation.state":       {0, 2, 1, 1, 1},
	"punctual_alarm_channel.for_jobs":       {0, 1, 0, 0, 0},
	"punctual_alarm_channel.enabled":        {1, 1, 3, 4, 5},
	"punctual_alarm_channel.kind":           {"kind1", "mail", "kind3", "kind4", "kind5"},
	"punctual_adoption.finished_at":         {0, 2, 3, 4, 5},
	"punctual_api_token.revoked_at":         {0, 0, 3, 4, 5},
	"punctual_api_token.expires_at":         {0, 2, 3, 4, 5},
	"punctual_alarm_state.opened_at":        {1, 0, 3, 4, 5},
	"punctual_alarm_state.notice_id":        {1, 0, 3, 4, 5},
	"punctual_alarm_delivery.notice_id":     {1, 2, 2, 4, 5}, // none is about the third notice
	"punctual_alarm_escalation.notice_id":   {1, 2, 2, 4, 5},
	"punctual_view.shared":                  {1, 0, 0, 1, 0},
	"punctual_audit.seq":                    {0, 2, 3, 4, 5},
	"punctual_declared_job.dropped_at":      {0, 0, 3, 4, 5},
	"punctual_schedule.until_at":            {1, 0, 3, 4, 0},
	"punctual_schedule.job_id":              {1, 2, 3, 4, 77}, // as above
	"punctual_team_member.ruled":            {1, 0, 0, 0, 0},
	"punctual_pause.until_at":               {0, 2, 3, 4, 5},
	"punctual_pause.ended_at":               {0, 2, 3, 4, 5},
	"punctual_device_login.state":           {0, 1, 2, 3, 0},
	"punctual_callback.state":               {0, 1, 2, 0, 1},
	"punctual_alarm_state.job_id":           {1, 2, 3, 4, 77}, // the last of a job that is gone

	"punctual_trial.log_id":     {1, 3, 4, 5, 77}, // the last of a run that is gone
	"punctual_favourite.job_id": {1, 2, 3, 4, 77}, // the last of a job that is gone
	"punctual_gate.job_id":      {1, 2, 3, 4, 77}, // as above

	"punctual_note.job_id": {1, 0, 3, 4, 77}, // the last of a job and a run that are gone
	"punctual_note.run_id": {1, 0, 0, 4, 77},

	"punctual_webhook_delivery.webhook_id": {1, 1, 1, 1, 1},
	"punctual_webhook_delivery.state":      {0, 0, 1, 2, 0},
	"punctual_webhook_delivery.next_at":    {0, 2, 0, 0, 0},
	"punctual_output.state":                {0, 1, 2, 0, 3},
	"punctual_output.node":                 {1, 1, 1, 2, 1},
	"punctual_output.pushed":               {1, 1, 0, 0, 0},
	"punctual_output_object.live":          {0, 2, 1, 0, 5},
	"punctual_output_object.made":          {1, 2, 9, 4, 5},
	"xxl_job_registry.silent":              {0, 1, 0, 0, 0},

	"punctual_flow_run.state":        {0, 1, 2, 0, 3},
	"punctual_flow_run.asked":        {0, 1, 0, 0, 0},
	"punctual_flow_run.text_id":      {1, 2, 3, 4, 4}, // the last text is no run's
	"punctual_flow_step.flow_log_id": {1, 1, 3, 4, 5},
	"punctual_flow_step.step":        {"step1", "step1", "step3", "step4", "step5"},
	"punctual_flow_step.item":        {-1, 3, -1, -1, 2},
	"punctual_flow_step.state":       {1, 1, 0, 1, 2},
}

// argValues are the arguments that are not those of the first seeded row, by the name of a parameter or of a method and its
// parameter.
var argValues = map[string]any{
	"SetExecutorAsked.SilentSince": int64(77), "DeleteCalendar": "name1", "HoldCalendar": "name1", "ListCalendarJobs.Beside": int64(0), "ReplanJob.Beside": int64(0),
	"ListFullAttempts": []string{"id1"}, "ListPlaces.Places": []string{"place1"}, "TakeAttempt.MostMs": int64(100), "InsertAttempt.ID": "new",
	"DeleteAttemptsBefore": int64(100), "DeletePlacesBefore": int64(100), "NthPlace.Offset": int32(0), "InsertSignIn.ID": "new", "GetSignIn.NowMs": int64(0), "EndSignIn.UntilMs": int64(0),
	"DeleteSignInsBefore": int64(100), "SetPasswordDue.PasswordDue": int64(77), "ListSessionTimes.NowMs": int64(0),
	"DeleteTeamMembersOf": int64(2), "InsertTeamMember.TeamID": int64(50), "InsertTeamPermission.TeamID": int64(50), "InsertTeam.Name": "new", "RenameTeam.Name": "new",
	"IsServiceAccount": int64(2), "UseCode.Step": int64(100), "InsertRecoveryCode.Hash": "new", "SetSignInChallenge.Challenge": "new",

	"ListAPITokensFor": "%", "SetAPITokenGroups.GroupIds": "7", "ListDirectoryUsers.Provider": "company", "ListUsersPermitted": "%,permis3,%", "SetUserPermission.Permission": db.Text("7"),
	"ListNotesOfGroup.JobGroup": int64(2), "ListNotesOfGroup.Since": int64(0), "ListNotesBetween.Since": int64(0), "DeleteNotesBefore": int64(100),
	"ListThinOutputObjects.Store":      "store3",
	"ListWaitingRunsOfGroup.AfterLine": int64(-9), "ListWaitingRunsOfJob.AfterMs": int64(0), "ListWaitingRunsOfJob.Line": int64(5), "PutInLine.GroupID": int64(7), "PutInLine.FromLine": int64(5), "PutInLine.FromGroup": int64(1), "ListWaitingRunsOfGroup.AfterMs": int64(0), "ListWaitingRunsOfGroup.AfterID": int64(0),
	"InsertFavourite.UserID": int64(50), "ListFavouritesWithoutJob": int64(5), "InsertTrial.LogID": int64(100), "ListTrialsWithoutRun.MadeBefore": int64(100),
	"InsertCallback.LogID": int64(100), "InsertCallback.Token": "new", "GetCallback": "token1", "EndCallbacks": []int64{1}, "NoteProgress.Token": "token1", "NoteProgress.Progress": "changed", "DeleteCallbacksBefore": int64(100),
	"GetDeviceLogin": "id1", "InsertDeviceLogin.ID": "new", "InsertDeviceLogin.Code": "new", "DeleteDeviceLoginsBefore": int64(100), "TakeDeviceLogin.ID": "id2", "TakeDeviceLogin.UserID": int64(2), "TakeDeviceLogin.NowMs": int64(0),
	"AnswerDeviceLogin.NowMs": int64(0), "AnswerDeviceLogin.State": int64(1), "FindDeviceLogin.NowMs": int64(0), "CountDeviceLogins.NowMs": int64(0),

	"Limit": int32(10), "Offset": int32(0), "AllGroups": int64(1), "AnyTag": int64(1), "Status": int64(-1),
	"AfterID": int64(0), "AfterMs": int64(0), "FromID": int64(0), "BeforeID": int64(100), "LowID": int64(0),
	"HastenAlarmNotices.DueAt": int64(0), "UptoID": int64(100), "UntilMs": int64(100), "NowMs": int64(100), "ExceptID": int64(100),
	"SinceTime": seedTime, "FromTime": seedTime, "FirstDay": seedTime,
	"UntilTime": seedTime.AddDate(0, 0, 20), "ToTime": seedTime.AddDate(0, 0, 20), "LastDay": seedTime.AddDate(0, 0, 20),
	"Pattern": "%", "Lost": "handle%", "Description": "%",
	"NewNextTime": int64(50), "NextTime": int64(50), "NewPassword": "changed", "OldPassword": "passwo1", "NewOwner": int64(50),
	"Day": seedTime.AddDate(0, 0, 1), "OldOwner": int64(1),

	"ListReportedRunsOfNode.OwnerNode": int64(2), "LowerNodeMark.LowLogID": int64(0), "TopID": int64(100), "RecordReportedRuns.OwnerNode": int64(2), "RecordReportedRuns.Ids": []int64{2},
	"ListSuccessesAfter.JobID": int64(2), "ListSuccessesOfPartAfter.JobID": int64(2), "ListFailuresByCode.HandleCode": int64(500),
	"MarkLeaving.SentAt": int64(77), "MarkLeaving.ID": int64(3), "SupersedeLost.ID": int64(4), "GetSession.NowMs": int64(0), "HoldSession.NowMs": int64(0), "DeleteNode": int64(3), "NoteReportedOfNode": int64(4),
	"StartJob.ID": int64(3), "CountJobsDueAt.AtMs": int64(1), "ListJobs.Handler": "%", "ListJobs.Author": "%", "CountJobs.Handler": "%", "CountJobs.Author": "%",
	"DeleteRegistryBefore": seedTime.AddDate(0, 0, 20), "DeleteSessionsBefore": int64(100), "DeleteClearingsBefore": int64(100), "DeleteRefusedBefore": int64(100), "DeleteFollowedBefore": int64(100), "InsertFollowed.LogID": int64(100),
	"LastRunIDBefore": seedTime.AddDate(0, 0, 20), "FirstRunIDSince": seedTime, "DeleteRegistryOfKey": "regist1", "DeleteGroupOptions": "app_na1",
	"ListGroupsWithWaiting": int64(100), "ListClearings": int32(10), "NthRunIDUpTo.Offset": int32(0), "NthRunIDUpTo.Upto": int64(100), "CountRunsBetween.After": int64(0), "CountRunsBetween.Upto": int64(100),
	"GetUserByIdentity": "identi1", "UseSignIn.ID": "new", "DeleteUsedSignInsBefore": int64(100),
	"InsertUser.Username": "new", "InsertPermission.UserID": int64(100), "KeepID": "other", "ObjectPattern": "%",
	"AfterSeq": int64(0), "ToSeq": int64(100), "NewSeq": int64(50), "NewHash": "changed", "OldSeq": int64(1), "InsertAuditMarkIfAbsent.Name": "new", "ListAuditMarks": int32(10), "ListUnchainedAudit": int32(10), "ChainAudit.Seq": int64(77), "GetAuditMark": "name1",
	"ResetUserPassword.ID": int64(2), "ListUsers": int32(10), "UpdateUser.Disabled": int64(1), "LoginAt": int64(77),
	"ListJobsNamed.Names": []string{"job_de1"}, "ListSessionsOfUser.NowMs": int64(0), "InsertSession.ID": "new", "InsertSettingIfAbsent.Name": "new", "InsertReport.TriggerDay": seedTime,
	"DeleteAlarmDeliveriesBefore.CreatedAt": int64(100), "DeleteAlarmEventsBefore.RaisedAt": int64(100), "DeleteIdleAlarmStates": int64(100),
	"DeleteAlarmNoticesBefore.LastAt": int64(100), "InsertAlarmChannel.Name": "new", "InsertAlarmRoute.ScopeID": int64(100),
	"DeleteAlarmEscalationsBefore.DueAt": int64(100), "InsertAlarmEscalation.JobID": int64(100), "RearmAlarmEscalations.JobID": int64(2), "RearmAlarmEscalations": int64(2),
	"InsertAlarmState.JobID": int64(100), "ListOpenAlarmsWithJobs.BelowJob": int64(100), "InsertAlarmEventOnce.OnceKey": "new", "ListDueAlarmDeliveries.ExceptChannels": []int64{100},
	"BeforeMs": int64(100), "ListAlarmDeliveries.State": int64(-1), "ListSlowRuns.NowMs": int64(1_000_000), "AboveID": int64(0), "BelowID": int64(100), "AtMs": int64(77),
	"LastError": "changed", "MoveAlarmEvents.FromNotice": int64(2), "ToNotice": int64(50), "EndAlarmDeliveries.Holder": "holder2", "FreeAlarmDeliveries": "holder2%",
	"ListAlarmDeliveriesOfHolder.Holder": "holder2", "SettleAlarmNotice": int64(2),
	"InsertAPIToken.Hash": "new", "TouchAPIToken.UsedAt": int64(77), "ListServiceAccounts": int32(10),
	"SetSecret.Value": "changed", "InsertScriptChange.JobID": int64(100), "ReplaceScriptChange.Source": "changed",
	"SealToken.OldToken": "token1", "SealToken.OldPrevious": "previo1", "Token": "changed",
	"InsertCodeHandler.GroupID": int64(100), "InsertKill.LogID": int64(100), "ReplaceSetting.OldValue": "value1", "ResealAlarmChannel.OldConfig": "config1", "RegistryGroup": "EXECUTOR", "UpdatedAt": int64(77), "SeenAt": int64(77), "ExpiresAt": int64(77),
	"TouchRegistry.UpdateTime": seedTime.AddDate(0, 0, 9), "InsertRegistry.UpdateTime": seedTime.AddDate(0, 0, 9), "SetSetting.Value": "changed",
	"SetUserLang.Lang": "changed", "SetUserTheme.Theme": "changed", "SetUserZone.TimeZone": "changed", "SetUserPreferences.Preferences": "changed", "ListSettings": int32(10), "ListViews.UserID": int64(2), "InsertView.Name": "new", "UpdateView.Name": "new", "OwnView.ID": int64(5),
	"NoteAdoptionChecked.CheckedAt": int64(77), "NoteAdoptedTokens": int64(77), "FinishAdoption.FinishedAt": int64(77),
	"InsertAdoptedJob.JobID": int64(100), "InsertAdoptedToken.AppName": "new", "StopMovedJobs": []int64{5},
	"CleanIdempotency": int64(100), "InsertIdempotency.ID": "new",
	"Beside": int64(0), "Hidden": int64(0), "ListDueJobs.Held": []int64{100}, "MendStatuses": []int64{1, 2}, "ListFlowsNaming.Number": "%", "CountMovedJobs": int64(5), "GiveJobsBack.JobGroup": int64(5), "FromMs": int64(1), "SetBeside.GroupID": int64(100), "BeginBeside.MovedAt": int64(77),
	"ListPausedJobs.Revision": int64(100), "ResumeJobs.Revision": int64(100),
	"FindFileJobs.Name": "job_de1", "UpdateAlarmRoute.WasScope": "scope1", "UpdateAlarmRoute.WasCauses": "causes1",
	"InsertChainJob.JobID": int64(100), "InsertDeclaredJob.JobID": int64(100), "SaveFileJob.Source": "changed", "SetFileRevision.Revision": "changed", "SetFileRevision.Source": "source1", "ListFileJobsOfSource": "source1", "InsertDeclaredJob.Name": "new", "DropDeclaredJob.DroppedAt": int64(77),
	"DeleteSchedulesBefore": int64(100), "EndSchedule.JobID": int64(2), "SetDeletion.BeforeAt": int64(77),
	"SetBackfillState.ID": int64(2), "MoveBackfill.ID": int64(2), "EndBackfill.ID": int64(2), "OldState": "state2", "MoveBackfill.State": "state2", "MoveBackfill.No": int64(2),
	"NewState": "changed", "EndBackfill.EndedAt": int64(77), "SendBackfillRun.BackfillID": int64(2), "SendBackfillRun.No": int64(2), "SettleBackfillRun.State": int64(3), "FirstBackfillEndedBefore": int64(100),
	"InsertWebhook.Name": "new", "SendDeliveryAgain.ID": int64(3), "ListFreshDeliveries": int64(1), "DeleteDeliveriesUpTo.ID": int64(100), "ListDeliveries.Below": int64(100), "NthDelivery.Offset": int32(0), "NthFreshDelivery.Offset": int32(0), "CountFreshDeliveries.Above": int64(0), "CountFreshDeliveries.Top": int64(100), "NthFreshDelivery.Top": int64(100), "NthFreshDeliveryAbove.Offset": int32(0),
	"TouchFlowText.MadeAt": int64(77), "SetFlowRunTimes.BeganAt": int64(77), "ListFlowTextsUnused.MadeBefore": int64(100), "DeleteFlowTexts.MadeBefore": int64(100),
	"TakePulls.Ids": []string{"id1", "id2"}, "TakePulls.Pull": "new", "TakePulls.Now": int64(0), "TakePulls.Lost": []string{"pull1"}, "ListTakenPulls.Ids": []string{"id2"}, "DeletePulls": []string{"id1"},
	"DeletePullAnswers": []string{"id1"}, "DeletePullsBefore": int64(100), "DeletePullSeenBefore": int64(100), "DeletePullAnswersBefore": int64(100),
	"ListFlowResults.Steps": []string{"step1"}, "CopyFlowItems.ToItem": int64(10), "CopyFlowItems.ToLogID": int64(9),
	"LeaveOutputObject.ID": int64(2), "InsertOutputBlob.Part": int64(99), "InsertOutputFilter.ObjectID": int64(99),
	"ResealWebhook.OldConfig": "config1", "NoteWebhookTrouble.LastReason": "changed", "ListSilentExecutors.UpdateTime": seedTime.AddDate(0, 0, 20), "NoteSilentExecutor.Before": seedTime.AddDate(0, 0, 20),
	"NoteExecutorBack.RegistryKey": "regist2", "NoteExecutorBack.RegistryValue": "regist2",
	"DeleteOwnViews": int64(2), "FromHour": int64(0), "ToHour": int64(100), "FromDay": int64(0), "ToDay": int64(100), "DeleteHoursBefore": int64(100), "DeleteJobDaysBefore": int64(100), "SetHour.SucCount": int64(77),
}

// TestEveryQuery calls each method of the Querier on rows that fill every column, and on both databases. It checks that
// the method works there, that it finds or changes something, and that both databases say and do the same. A new query
// whose plain arguments find nothing needs an entry in argValues; rows in a new table are made by themselves.
func TestEveryQuery(t *testing.T) {
	t.Parallel()
	seen := make(map[db.Dialect]map[string]effect)
	for _, dialect := range []db.Dialect{db.SQLite, db.MySQL} {
		t.Run(string(dialect), func(t *testing.T) { seen[dialect] = callAll(t, dbtest.New(t, dialect)) })
	}
	if len(seen) < 2 {
		return // no MariaDB here
	}
	for name, a := range seen[db.SQLite] {
		b := seen[db.MySQL][name]
		if diff := cmp.Diff(a, b, cmp.AllowUnexported(effect{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s differs (-sqlite +mariadb):\n%s", name, diff)
		}
	}
}

// TestEveryQueryOnAdoptedTables does the same on tables that were XXL-JOB's, with the collations that they have there: its script names none,
// so that they have the server's, and tables that were restored or added elsewhere have another.
func TestEveryQueryOnAdoptedTables(t *testing.T) {
	t.Parallel()
	fresh := callAll(t, dbtest.New(t, db.MySQL))
	several := map[string]string{"xxl_job_group": "utf8mb4_bin", "xxl_job_registry": "utf8mb4_unicode_520_ci", "xxl_job_log": "utf8mb4_unicode_ci"}
	for name, collations := range map[string]map[string]string{"the server's": nil, "several": several} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := dbtest.Open(t, db.Config{URL: dbtest.MariaDB(t)})
			newest := eras[6]
			newest.createIn(t, pool.DB, func(table string) string {
				if c, ok := collations[table]; ok {
					return c
				}
				return "utf8mb4_general_ci"
			})
			if err := pool.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			adopted := callAll(t, pool)
			for name, a := range fresh {
				if diff := cmp.Diff(a, adopted[name], cmp.AllowUnexported(effect{}), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s differs (-fresh +adopted):\n%s", name, diff)
				}
			}
		})
	}
}

// TestEveryQueryPrepared does the same with statements that the server has prepared, and numbers that are sent as such.
func TestEveryQueryPrepared(t *testing.T) {
	t.Parallel()
	text := callAll(t, dbtest.New(t, db.MySQL))
	pool := dbtest.New(t, db.MySQL)
	db.KeepAtOnce(pool)
	for name, prepared := range callAll(t, pool) {
		if diff := cmp.Diff(text[name], prepared, cmp.AllowUnexported(effect{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s differs (-text +prepared):\n%s", name, diff)
		}
	}
	var name string
	var executed int
	if err := pool.QueryRowContext(t.Context(), "SHOW STATUS LIKE 'Com_stmt_execute'").Scan(&name, &executed); err != nil || executed < len(text)/2 {
		t.Errorf("%d statements were prepared ones: %v", executed, err)
	}
}

// effect is what a call says and which tables look how after it.
type effect struct {
	result any
	tables map[string][]string // only those it changed
}

func callAll(t *testing.T, pool *db.Pool) map[string]effect {
	tables := seed(t, pool)
	querier := reflect.TypeFor[db.Querier]()
	queries := reflect.ValueOf(db.New())
	before := make(map[string][]string)
	for table, columns := range tables {
		before[table] = contents(t, pool, table, columns)
	}
	effects := make(map[string]effect)
	for method := range querier.Methods() {
		undo := errors.New("undo")
		var e effect
		err := pool.Tx(t.Context(), func(tx *sql.Tx) error {
			said := &overheard{DBTX: tx}
			args := []reflect.Value{reflect.ValueOf(t.Context()), reflect.ValueOf(said)}
			if method.Type.NumIn() == 3 {
				args = append(args, argument(method.Name, method.Type.In(2)))
			}
			out := queries.MethodByName(method.Name).Call(args)
			if err, _ := out[len(out)-1].Interface().(error); err != nil {
				return fmt.Errorf("call with %+v: %w", args[len(args)-1], err)
			}
			e = effect{tables: make(map[string][]string)}
			if len(out) == 2 {
				e.result = out[0].Interface()
			}
			for table, columns := range tables {
				if !said.mayChange(table) {
					continue
				}
				if after := contents(t, tx, table, columns); !slices.Equal(before[table], after) {
					e.tables[table] = after
				}
			}
			return undo
		})
		if !errors.Is(err, undo) {
			t.Errorf("%s: %v", method.Name, err)
			continue
		}
		if nothing := e.result == nil || reflect.ValueOf(e.result).IsZero() || isEmpty(e.result); nothing && len(e.tables) == 0 {
			t.Errorf("%s finds and changes nothing, so this says nothing about it: give it arguments in argValues", method.Name)
		}
		effects[method.Name] = e
	}
	for table, columns := range tables {
		if after := contents(t, pool, table, columns); !slices.Equal(before[table], after) {
			t.Errorf("%s is not as it was when all was undone", table)
		}
	}
	return effects
}

// overheard notes the statements that a method makes.
type overheard struct {
	db.DBTX
	statements []string
}

func (o *overheard) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	o.statements = append(o.statements, query)
	return o.DBTX.ExecContext(ctx, query, args...)
}

func (o *overheard) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	o.statements = append(o.statements, query)
	return o.DBTX.QueryContext(ctx, query, args...)
}

func (o *overheard) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	o.statements = append(o.statements, query)
	return o.DBTX.QueryRowContext(ctx, query, args...)
}

// mayChange says whether a statement that is no SELECT names a table: there is nothing else by which it can change one, since no table has
// a trigger or a foreign key.
func (o *overheard) mayChange(table string) bool {
	return slices.ContainsFunc(o.statements, func(statement string) bool {
		return !reads.MatchString(statement) && strings.Contains(statement, table)
	})
}

var reads = regexp.MustCompile(`^(?:--[^\n]*\n)*\s*SELECT\b`)

func isEmpty(v any) bool {
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Slice && r.Len() == 0
}

// argument makes the argument of a method: that of the first seeded row, unless argValues says otherwise.
func argument(method string, typ reflect.Type) reflect.Value {
	v := reflect.New(typ).Elem()
	if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[sql.NullTime]() {
		fill(v, method, argValues[method])
		return v
	}
	for i := range typ.NumField() {
		name := typ.Field(i).Name
		value, ok := argValues[method+"."+name]
		if !ok {
			value = argValues[name]
		}
		fill(v.Field(i), name, value)
	}
	return v
}

func fill(v reflect.Value, name string, value any) {
	switch {
	case v.Type() == reflect.TypeFor[sql.NullTime]():
		at, ok := value.(time.Time)
		if !ok {
			at = seedTime.AddDate(0, 0, 1)
		}
		v.Set(reflect.ValueOf(sql.NullTime{Time: at, Valid: true}))
	case value != nil:
		v.Set(reflect.ValueOf(value).Convert(v.Type()))
	case v.Kind() == reflect.Interface: // a text that is added to a column
		v.Set(reflect.ValueOf("x"))
	case v.Kind() == reflect.String:
		v.SetString(seedText(snake(name), 1))
	case v.Type() == reflect.TypeFor[[]byte]():
		v.SetBytes([]byte("x"))
	case v.Kind() == reflect.Slice:
		v.Set(reflect.ValueOf([]int64{1, 2, 3}))
	default:
		v.SetInt(1)
	}
}

// single are the names of the columns behind methods that take one plain argument.
var single = map[string]string{
	"DeleteAttempt": "id", "DeleteAttemptsOnName": "name", "SetSignInStrong": "id", "TakeSignInChallenge": "id",
	"WithdrawPull": "id", "ListPullAnswers": "asker", "DeleteToken": "app_name", "DeleteSession": "id", "DeleteIdempotency": "id", "GetIdempotency": "id", "GetSetting": "name", "DeleteSetting": "name", "GetUserByName": "username", "FindAPIToken": "hash", "CountJobsWithBackoff": "retry_backoff",
}

// snake is the column behind a parameter's name.
func snake(name string) string {
	if column, ok := single[name]; ok {
		return column
	}
	var b strings.Builder
	for i, r := range strings.ReplaceAll(name, "ID", "Id") {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// seedText is the text in a row of the seed, short enough for every column.
func seedText(column string, row int) string { return fmt.Sprintf("%.6s%d", column, row) }

// seed puts rows into every table but those of the migrations, and returns the tables with their columns. The last row
// has NULL wherever it may.
func seed(t *testing.T, pool *db.Pool) map[string][]string {
	t.Helper()
	shape := dbtest.New(t, db.SQLite) // its catalogue is the easier to read
	if more := texts(t, shape, "SELECT name FROM sqlite_master WHERE type = 'trigger' OR sql LIKE '% REFERENCES %'"); len(more) > 0 {
		t.Errorf("what %v change besides is not looked at", more)
	}
	tables := make(map[string][]string)
	names := texts(t, shape, "SELECT name FROM sqlite_master WHERE type = 'table' AND (name LIKE 'xxl_job_%' OR name LIKE 'punctual_%')")
	for _, table := range names {
		if table == "xxl_job_lock" || table == db.TestVersionTable || table == db.TestLockTable {
			continue
		}
		columns := texts(t, shape, "SELECT name || ' ' || type || ' ' || CASE WHEN \"notnull\" + pk > 0 THEN 'always' ELSE 'maybe' END FROM pragma_table_info('"+table+"')")
		for row := 1; row <= seedRows; row++ {
			var list []string
			var values []any
			for _, c := range columns {
				f := strings.Fields(c)
				list = append(list, f[0])
				special, ok := seedValues[table+"."+f[0]]
				switch {
				case ok:
					values = append(values, special[row-1])
				case f[2] == "maybe" && row == seedRows:
					values = append(values, nil)
				case f[1] == "DATETIME":
					values = append(values, seedTime.AddDate(0, 0, row))
				case strings.Contains(f[1], "INT"):
					values = append(values, row)
				default:
					values = append(values, seedText(f[0], row))
				}
			}
			statement := fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", table, strings.Join(list, ", "), strings.TrimSuffix(strings.Repeat("?,", len(list)), ","))
			if _, err := pool.ExecContext(t.Context(), statement, values...); err != nil {
				t.Fatalf("seed %s: %v", table, err)
			}
			tables[table] = list
		}
	}
	if len(tables) < 10 {
		t.Fatalf("seeded only %v", slices.Collect(maps.Keys(tables)))
	}
	return tables
}

func texts(t *testing.T, pool *db.Pool, query string) []string {
	t.Helper()
	rows, err := pool.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// contents is a table's rows as text.
func contents(t *testing.T, tx interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}, table string, columns []string) []string {
	t.Helper()
	rows, err := tx.QueryContext(t.Context(), fmt.Sprintf("SELECT %s FROM %s ORDER BY 1, 2", strings.Join(columns, ", "), table))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		values := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for i, v := range values {
			switch v := v.(type) {
			case []byte:
				fmt.Fprintf(&b, "%s=%s ", columns[i], v)
			case time.Time:
				fmt.Fprintf(&b, "%s=%s ", columns[i], v.Format(time.DateTime))
			default:
				fmt.Fprintf(&b, "%s=%v ", columns[i], v)
			}
		}
		all = append(all, b.String())
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
