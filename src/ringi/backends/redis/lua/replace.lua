-- Put items in place of all others, unless the last number is another one. KEYS: fence, items. ARGV: last, token, item …
local fence, token, deleted = string.match(redis.call('GET', KEYS[1]) or '0 - 0', '^(%d+) (%S+) ?(%d*)$')
local last = (tonumber(deleted) or 0) + redis.call('LLEN', KEYS[2])
-- The first try was done and its reply was lost.
if token == ARGV[2] then return last end
if tonumber(ARGV[1]) ~= last then return -1 end
redis.call('SET', KEYS[1], fence .. ' ' .. ARGV[2] .. ' ' .. last)
redis.call('DEL', KEYS[2])
for n = 3, #ARGV do redis.call('RPUSH', KEYS[2], ARGV[n]) end
return last + redis.call('LLEN', KEYS[2])
