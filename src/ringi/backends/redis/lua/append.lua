-- Add items to a stream unless a higher fence was used on it. KEYS: fence, items. ARGV: fence, token, item …
local fence, token = string.match(redis.call('GET', KEYS[1]) or '0 -', '^(%d+) (%S+)$')
-- The first try was done and its reply was lost.
if token == ARGV[2] then return redis.call('LLEN', KEYS[2]) end
if tonumber(ARGV[1]) < tonumber(fence) then return -1 end
redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[2])
for n = 3, #ARGV do redis.call('RPUSH', KEYS[2], ARGV[n]) end
return redis.call('LLEN', KEYS[2])
