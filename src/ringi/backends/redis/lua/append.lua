-- Add items to a stream unless a higher fence was used on it. KEYS: fence, items. ARGV: fence, token, item …
local fence, token, deleted = string.match(redis.call('GET', KEYS[1]) or '0 - 0', '^(%d+) (%S+) ?(%d*)$')
deleted = tonumber(deleted) or 0
-- The first try was done and its reply was lost.
if token == ARGV[2] then return deleted + redis.call('LLEN', KEYS[2]) end
if tonumber(ARGV[1]) < tonumber(fence) then return -1 end
redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[2] .. ' ' .. deleted)
for n = 3, #ARGV do redis.call('RPUSH', KEYS[2], ARGV[n]) end
return deleted + redis.call('LLEN', KEYS[2])
