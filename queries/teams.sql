-- What touches the punctual_team tables: named sets of users that have rights as users have.

-- name: ListTeams :many
SELECT id, name, created_at FROM punctual_team ORDER BY name, id LIMIT ?;

-- name: GetTeam :one
SELECT id, name, created_at FROM punctual_team WHERE id = ?;

-- name: InsertTeam :execlastid
INSERT INTO punctual_team (name, created_at) VALUES (?, ?);

-- name: RenameTeam :execrows
UPDATE punctual_team SET name = ? WHERE id = ?;

-- name: DeleteTeam :execrows
-- The caller drops the members and the rights too.
DELETE FROM punctual_team WHERE id = ?;

-- name: ListTeamMembers :many
-- The members of all teams, by name, for lists; the names of users that another program deleted are missing.
SELECT m.team_id, m.user_id, m.ruled, u.username, u.disabled
FROM punctual_team_member AS m JOIN xxl_job_user AS u ON u.id = m.user_id ORDER BY m.team_id, u.username, u.id;

-- name: ListMembersOfTeam :many
SELECT m.team_id, m.user_id, m.ruled, u.username, u.disabled
FROM punctual_team_member AS m JOIN xxl_job_user AS u ON u.id = m.user_id WHERE m.team_id = ? ORDER BY u.username, u.id;

-- name: ListTeamsOfUser :many
SELECT t.id, t.name, m.ruled FROM punctual_team_member AS m JOIN punctual_team AS t ON t.id = m.team_id WHERE m.user_id = ? ORDER BY t.name, t.id;

-- name: InsertTeamMember :exec
-- Who is a member already stays one in the way they are.
INSERT IGNORE INTO punctual_team_member (team_id, user_id, ruled) VALUES (?, ?, ?);

-- name: DeleteTeamMembersOf :execrows
-- Those whom somebody put in; the others are a rule's matter.
DELETE FROM punctual_team_member WHERE team_id = ? AND ruled = 0;

-- name: DeleteAllTeamMembersOf :execrows
DELETE FROM punctual_team_member WHERE team_id = ?;

-- name: DeleteRuledTeamsOfUser :execrows
-- At a sign-in, before the rules put the user into teams anew.
DELETE FROM punctual_team_member WHERE user_id = ? AND ruled = 1;

-- name: DeleteTeamsOfUser :execrows
DELETE FROM punctual_team_member WHERE user_id = ?;

-- name: ListTeamPermissions :many
SELECT team_id, group_id, rights FROM punctual_team_permission ORDER BY team_id, group_id;

-- name: ListPermissionsOfTeam :many
SELECT team_id, group_id, rights FROM punctual_team_permission WHERE team_id = ? ORDER BY group_id;

-- name: ListTeamPermissionsOfUser :many
-- What somebody may do as a member: a row for each team and group. It is asked for with every request.
SELECT p.team_id, p.group_id, p.rights
FROM punctual_team_member AS m JOIN punctual_team_permission AS p ON p.team_id = m.team_id WHERE m.user_id = ? ORDER BY p.team_id, p.group_id;

-- name: InsertTeamPermission :exec
INSERT INTO punctual_team_permission (team_id, group_id, rights) VALUES (?, ?, ?);

-- name: DeletePermissionsOfTeam :execrows
DELETE FROM punctual_team_permission WHERE team_id = ?;

-- name: DeleteTeamPermissionsOfGroup :execrows
-- All that teams may do in a group that is deleted.
DELETE FROM punctual_team_permission WHERE group_id = ?;
