-- Move a cursor on from where it must stand. KEYS: cursors. ARGV: name, token, old, new.
local token, position = string.match(redis.call('HGET', KEYS[1], ARGV[1]) or '- ', '^(%S+) (.*)$')
-- The first try was done and its reply was lost.
if token == ARGV[2] then return 1 end
if position ~= ARGV[3] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ' ' .. ARGV[4])
return 1
