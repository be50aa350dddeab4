-- +goose Up
-- From which item on a foreach may have some that have not begun, so that one of many items does not look at all of them with each end.
ALTER TABLE punctual_flow_step ADD COLUMN next_item INT NOT NULL DEFAULT 0;
