-- +goose Up
-- Routes that name all causes there were but skipped fires, as forms wrote them: without names they have those of later versions too.
UPDATE punctual_alarm_route SET causes = '' WHERE causes = 'failed,timeout,lost,dispatch,slow,silent,deadline,recovered';
