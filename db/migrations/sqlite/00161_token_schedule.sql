-- +goose Up
-- The same for API tokens, whose scope is a sum as in punctual_permission.
UPDATE punctual_api_token SET rights = rights | 16 WHERE (rights & 2) = 2;
